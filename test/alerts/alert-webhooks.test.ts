import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createSecrets, generateSecretsKey } from '../../src/base/secrets.ts'
import { createAlertSender } from '../../src/operations/alerts/send-message.ts'
import { tellWebhooks } from '../../src/operations/alerts/watch-problems.ts'
import { verifyStandardWebhook } from '../../src/sdk/webhook.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { type Operator, startOperator, status } from '../harness/operator.ts'
import { until } from '../harness/until.ts'

// Alert webhooks over GraphQL, told by the service itself and by looks that the tests make.

let game: Game
let receiver: Operator
const sender = createAlertSender({ allowPrivateAddresses: true })

beforeAll(async () => {
  receiver = await startOperator(status(204))
})
beforeEach(async () => {
  await game?.stop()
  game = await startGame()
  receiver.answer(status(204))
  ;(receiver.hits as unknown[]).length = 0
})
afterAll(async () => {
  await game.stop()
  await sender.close()
  await receiver.close()
})

const FIELDS = 'alertWebhookId name format host link kinds enabled sentAt failure failingSince'
const PAYLOAD = `alertWebhook { ${FIELDS} } secret auditEntry { action before after reason }`

async function mutate(name: string, input: object, { selection = PAYLOAD, as = game.platformKey } = {}) {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`
  return game.graphql(as, `mutation ($input: ${type}!) { ${name}(input: $input) { ${selection} } }`, {
    input: { environment: 'production', ...input },
  })
}

async function must(name: string, input: object, selection?: string) {
  const reason = name === 'testAlertWebhook' ? {} : { reason: 'LIVE-1' }
  const { data, errors } = await mutate(name, { ...reason, ...input }, selection === undefined ? {} : { selection })
  expect(errors).toBeUndefined()
  return data[name]
}

async function faultsOf(name: string, input: object, options?: Parameters<typeof mutate>[2]) {
  const { errors } = await mutate(name, { reason: 'LIVE-1', ...input }, options)
  const details = errors?.[0]?.extensions.details as { path: string; message: string }[] | undefined
  return details?.map(({ path, message }) => `${path}: ${message}`) ?? [errors?.[0]?.extensions.code]
}

const create = async (input: object = {}) => {
  const { alertWebhook, secret } = await must('createAlertWebhook', {
    ...{ name: randomUUID(), format: 'STANDARD', url: receiver.url },
    ...input,
  })
  return { ...alertWebhook, secret } as { alertWebhookId: string; name: string; secret: string }
}

async function list() {
  const { data } = await game.graphql(game.platformKey, `{ alertWebhooks(environment: "production") { ${FIELDS} } }`)
  return data.alertWebhooks
}

const query = (text: string, values: unknown[] = []) => game.app.pool.query(text, values)

/** A grant job that waits for a person. */
async function pauseJob(reason = 'an outage'): Promise<string> {
  const id = randomUUID()
  await query(
    `INSERT INTO grant_jobs (environment_id, id, state, target, gift, most, reason, project_id, key_id, idempotency_key, request_sha256)
     VALUES ($1, $2, 'paused', '{}', '{}', 1, $3, $4, gen_random_uuid(), $5, '')`,
    [game.environmentId, id, reason, game.projectId, id],
  )
  return id
}
const cancelJob = (id: string) => query("UPDATE grant_jobs SET state = 'cancelled' WHERE id = $1", [id])

/** The webhooks are due for the looks of tests, and not for those of the service. */
const makeDue = () => query("UPDATE alert_webhooks SET looked_at = now() - interval '25 seconds'")

/** A look of an instance, which may die before it stores how the message went. */
async function tell({ dies = false } = {}): Promise<void> {
  const ended = new AbortController()
  const send: typeof sender.send = async (...args) => {
    const attempt = await sender.send(...args)
    if (dies) ended.abort()
    return attempt
  }
  const { operatorPool: pool, secrets } = game.app.service
  await tellWebhooks({ pool, secrets, send, onSent: () => undefined, signal: ended.signal, lookEveryMs: 20_000 })
}

/** A look at every webhook now. A message that has failed does not wait for its next attempt. */
async function look(options?: Parameters<typeof tell>[0]): Promise<void> {
  await query('UPDATE alert_webhooks SET next_attempt_at = NULL')
  await makeDue()
  await tell(options)
}

const received = () => receiver.hits.map(({ body }) => JSON.parse(body.toString()))
const changes = () =>
  received().map(({ data: { began, ended } }) => [
    ...began.map(({ text }: { text: string }) => `+${text}`),
    ...ended.map(({ text }: { text: string }) => `-${text}`),
  ])

describe('an alert webhook', () => {
  it('is told by the service, signed, what needs a person, and once it is over', async () => {
    const jobId = await pauseJob()
    const { secret } = await create({ link: 'https://live.example/today' })
    await until('the message is there', () => receiver.hits.length === 1)
    const [hit] = receiver.hits
    const header = (name: string) => hit?.headers[name] as string
    const headers = {
      ...{ id: header('webhook-id'), timestamp: header('webhook-timestamp'), signature: header('webhook-signature') },
    }
    expect(verifyStandardWebhook(secret, hit?.body ?? '', headers)).toBe(true)
    const { rows } = await query('SELECT name FROM projects WHERE id = $1', [game.projectId])
    expect(received()).toEqual([
      {
        type: 'problems.changed',
        timestamp: expect.any(String),
        data: {
          ...{ project: rows[0].name, environment: 'production', link: 'https://live.example/today', ended: [] },
          began: [
            {
              ...{ kind: 'GRANT_JOB_PAUSED', at: expect.any(String), grantJobId: jobId },
              text: 'A grant job is paused: an outage',
            },
          ],
        },
      },
    ])
    await until('it is noted', async () => (await list())[0].sentAt !== null)
    expect(await list()).toMatchObject([{ failure: null, failingSince: null }])

    await look()
    await cancelJob(jobId)
    await look()
    expect(changes()).toEqual([['+A grant job is paused: an outage'], ['-A grant job is paused: an outage']])
    const metrics = await game.app.metrics.registry.metrics()
    expect(metrics).toContain('tierway_alert_messages_total{result="arrived"} 1')
  })

  it.each([
    ['SLACK', 'text'],
    ['DISCORD', 'content'],
  ])('of the format %s gets the message of a chat, unsigned', async (format, member) => {
    await pauseJob('@everyone <!channel>')
    const { secret } = await create({ format })
    expect(secret).toBeNull()
    await until('the message is there', () => receiver.hits.length === 1)
    expect(received()[0][member]).toMatch(/🔴 `?A grant job is paused/)
    expect(received()[0][member]).not.toMatch(/[^\\]@everyone <!|<!channel>/)
    expect(receiver.hits[0]?.headers).not.toHaveProperty('webhook-signature')
  })

  it('gets each message from one instance, however many look at once', async () => {
    await create()
    await look()
    await pauseJob()
    await makeDue()
    await Promise.all(times(6, () => tell()))
    expect(changes()).toEqual([['+A grant job is paused: an outage']])
  })

  it('gets a message that failed again, unchanged and with its id, and then what has changed meanwhile', async () => {
    await create()
    await look()
    receiver.answer(status(500))
    const first = await pauseJob('first')
    await look()
    expect(await list()).toMatchObject([{ sentAt: null, failure: 'status 500', failingSince: expect.any(String) }])
    await cancelJob(first)
    await pauseJob('second')
    await look()
    receiver.answer(status(200))
    await look()
    await look()
    const same = ['+A grant job is paused: first']
    expect(changes()).toEqual([
      ...[same, same, same],
      ['+A grant job is paused: second', '-A grant job is paused: first'],
    ])
    const ids = receiver.hits.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids.slice(0, 3)).size).toBe(1)
    expect(ids[3]).not.toBe(ids[0])
    expect(await list()).toMatchObject([{ sentAt: expect.any(String), failure: null, failingSince: null }])
  })

  it('waits longer and longer between attempts, up to an hour', async () => {
    await create()
    await look()
    receiver.answer(status(500))
    await pauseJob()
    const pauses: number[] = []
    for (let attempt = 0; attempt < 9; attempt += 1) {
      await look()
      const { rows } = await query(
        'SELECT round(extract(epoch FROM next_attempt_at - clock_timestamp())) AS seconds FROM alert_webhooks',
      )
      pauses.push(Number(rows[0].seconds))
    }
    const about = (seconds: number) => expect.toSatisfy((found: number) => Math.abs(found - seconds) <= 10)
    expect(pauses).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600].map(about))
    const attempts = receiver.hits.length
    await makeDue()
    await tell()
    expect(receiver.hits).toHaveLength(attempts)
  })

  it.each<[what: string, answer: () => Parameters<typeof status>, pauseSeconds: number]>([
    ['waits as long as an answer asks for', () => [429, { 'retry-after': '600' }], 600],
    ['waits no longer than an hour, whatever an answer asks for', () => [503, { 'retry-after': '86400' }], 3600],
    ['waits until a date', () => [429, { 'retry-after': new Date(Date.now() + 1_800_000).toUTCString() }], 1800],
    ['waits half a minute after a first 404', () => [404], 30],
    ['waits half a minute without a reason for longer', () => [500, { 'retry-after': 'soon' }], 30],
  ])('%s', async (_what, answer, pauseSeconds) => {
    await create()
    await look()
    receiver.answer(status(...answer()))
    await pauseJob()
    await look()
    const { rows } = await query(
      'SELECT extract(epoch FROM next_attempt_at - now())::float8 AS pause FROM alert_webhooks',
    )
    expect(Math.abs(rows[0].pause - pauseSeconds)).toBeLessThan(20)
  })

  it('waits an hour where the address is still not known at the third attempt', async () => {
    await create()
    await look()
    receiver.answer(status(404))
    await pauseJob()
    for (const _ of times(3, String)) await look()
    const { rows } = await query('SELECT next_attempt_at > now() + interval $$50 minutes$$ AS long FROM alert_webhooks')
    expect(rows).toEqual([{ long: true }])
  })

  it('is not taken to refuse a message that it could not take for other reasons', async () => {
    await create()
    await look()
    await pauseJob('a text')
    for (const code of [503, 503, 503, 503, 400, 400, 400, 400]) {
      receiver.answer(status(code))
      await look()
    }
    expect(
      changes()
        .flat()
        .every((text) => text.includes('a text')),
    ).toBe(true)
    await look()
    await look()
    expect(changes().at(-1)).toEqual(['+Grant job paused.'])
  })

  it('gets nothing more once it has said that it is gone, until it has another address', async () => {
    const { alertWebhookId } = await create()
    await look()
    receiver.answer(status(410))
    await pauseJob()
    await look()
    await makeDue()
    await tell()
    expect(receiver.hits).toHaveLength(1)
    expect((await list())[0].failure).toBe('status 410, so nothing more is sent to this address')
    receiver.answer(status(204))
    await must('updateAlertWebhook', { alertWebhookId, url: `${receiver.url}/new` })
    await tell()
    await until('it arrives', () => receiver.hits.length === 2)
  })

  it('that refuses a message five times gets it without its texts, and later ones if it refuses that, too', async () => {
    await create()
    await look()
    receiver.answer(status(400))
    await pauseJob('a text that it refuses')
    for (const _ of times(10, String)) await look()
    const texts = changes().flat()
    expect(texts.slice(0, 5).every((text) => text.includes('a text that it refuses'))).toBe(true)
    expect(texts.slice(5)).toEqual(times(5, () => '+Grant job paused.'))
    expect((await list())[0].failure).toBe('status 400, and the message was dropped')
    receiver.answer(status(204))
    await pauseJob('a later one')
    await look()
    expect(changes().at(-1)).toEqual([expect.stringContaining('a later one')])
    expect((await list())[0]).toMatchObject({ failure: null, failingSince: null })
  })

  it('gets a message again whose instance died before it noted that it had arrived', async () => {
    await create()
    await look()
    await pauseJob()
    await look({ dies: true })
    await look()
    await look()
    const ids = receiver.hits.map(({ headers }) => headers['webhook-id'])
    expect(ids).toHaveLength(2)
    expect(ids[0]).toBe(ids[1])
  })

  it('whose messages fail for ten minutes is a problem itself', async () => {
    const { name } = await create()
    await look()
    receiver.answer(status(500))
    await pauseJob()
    await look()
    await query("UPDATE alert_webhooks SET failing_since = now() - interval '11 minutes'")
    const { data } = await game.graphql(
      game.platformKey,
      '{ problems(environment: "production") { kind text alertWebhookId } }',
    )
    expect(data.problems).toContainEqual({
      ...{ kind: 'ALERTS_FAIL', text: `Alerts do not arrive at ${name}: status 500.` },
      alertWebhookId: expect.any(String),
    })
  })

  it('that cannot be read under SECRETS_KEYS fails with a reason, and a new address and secret mend it', async () => {
    const { alertWebhookId } = await create()
    await look()
    await pauseJob()
    const foreign = createSecrets([generateSecretsKey()])
    const context = { projectId: game.projectId, environmentId: game.environmentId, kind: 'x', name: 'x' }
    await query('UPDATE alert_webhooks SET url = $1, secret = $1', [foreign.seal('x', context)])
    await look()
    const because =
      'has an address or a secret under a key that SECRETS_KEYS lacks: set the address, and make a new secret'
    expect(await list()).toMatchObject([{ failure: because }])
    const refused = { alertWebhookId, reason: undefined }
    expect(await faultsOf('testAlertWebhook', refused, { selection: 'status' })).toEqual([`alertWebhookId: ${because}`])
    await must('updateAlertWebhook', { alertWebhookId, url: receiver.url, newSecret: true })
    await until('the message is there', () => receiver.hits.length === 1)
    // A secret that cannot be read is a problem itself.
    const unreadable = expect.stringMatching(/^\+Secrets cannot be read: SECRETS_KEYS lacks the key /)
    expect(changes()).toEqual([[unreadable, '+A grant job is paused: an outage']])
  })

  it('that is disabled is told nothing, and all of then when it is enabled again', async () => {
    const { alertWebhookId } = await create()
    await look()
    await must('updateAlertWebhook', { alertWebhookId, enabled: false })
    await pauseJob()
    await look()
    expect(receiver.hits).toEqual([])
    await must('updateAlertWebhook', { alertWebhookId, enabled: true })
    await until('the message is there', () => receiver.hits.length === 1)
    expect(changes()).toEqual([['+A grant job is paused: an outage']])
  })

  it('of one environment is told nothing of another', async () => {
    await must('createAlertWebhook', {
      ...{ environment: 'staging', name: 'a', format: 'STANDARD', url: receiver.url },
    })
    await pauseJob()
    await look()
    expect(receiver.hits).toEqual([])
  })
})

describe('the settings of an alert webhook', () => {
  it('never show its address or a secret, but in the answer that made the secret', async () => {
    const { alertWebhookId, secret } = await create({ name: 'ops', url: `${receiver.url}?token=hidden` })
    expect(secret).toMatch(/^whsec_/)
    const updated = await must('updateAlertWebhook', { alertWebhookId, url: `${receiver.url}?token=other` })
    expect(updated).toMatchObject({ secret: null, auditEntry: { after: { urlChanged: true } } })
    const renewed = await must('updateAlertWebhook', { alertWebhookId, newSecret: true })
    expect(renewed).toMatchObject({
      secret: expect.stringMatching(/^whsec_/),
      auditEntry: { after: { secretChanged: true } },
    })
    expect(renewed.secret).not.toBe(secret)
    const { rows } = await query('SELECT * FROM alert_webhooks')
    const { rows: audit } = await query("SELECT * FROM audit_log WHERE action LIKE 'alert_webhook.%'")
    expect(audit).toHaveLength(3)
    for (const hidden of ['hidden', 'token=', secret, renewed.secret])
      expect(JSON.stringify([rows, audit, await list()])).not.toContain(hidden)
  })

  it('are changed member by member, with an entry in the audit log', async () => {
    const { alertWebhookId } = await create({
      name: 'ops',
      kinds: ['LOGINS_FAIL', 'LOGINS_FAIL'],
      link: 'https://a.example',
    })
    expect(await must('updateAlertWebhook', { alertWebhookId, name: 'ops' })).toMatchObject({ auditEntry: null })
    const { alertWebhook, auditEntry } = await must('updateAlertWebhook', {
      ...{ alertWebhookId: `AlertWebhook:${alertWebhookId}`, name: 'live ops', kinds: [], link: '' },
    })
    expect(alertWebhook).toMatchObject({ alertWebhookId, name: 'live ops', kinds: [], link: null, format: 'STANDARD' })
    const { host } = new URL(receiver.url)
    const before = {
      name: 'ops',
      format: 'standard',
      host,
      link: 'https://a.example',
      kinds: ['logins fail'],
      enabled: true,
    }
    expect(auditEntry).toEqual({
      ...{ action: 'alert_webhook.update', reason: 'LIVE-1', before },
      after: { ...before, name: 'live ops', link: null, kinds: [] },
    })
    const gone = await must('deleteAlertWebhook', { alertWebhookId })
    expect(gone).toMatchObject({ alertWebhook: null, auditEntry: { action: 'alert_webhook.delete', after: null } })
    expect(await list()).toEqual([])
    expect(await faultsOf('deleteAlertWebhook', { alertWebhookId })).toEqual(['NOT_FOUND'])
  })

  it('are made once when a call is repeated', async () => {
    const input = { name: 'ops', format: 'STANDARD', url: receiver.url, kinds: [], reason: 'LIVE-1' }
    const answers = await Promise.all(times(4, () => must('createAlertWebhook', input)))
    expect(answers.filter(({ secret }) => secret !== null)).toHaveLength(1)
    expect(answers.filter(({ auditEntry }) => auditEntry !== null)).toHaveLength(1)
    expect(await list()).toHaveLength(1)
    const taken = ['name: is the name of another alert webhook']
    expect(await faultsOf('createAlertWebhook', { ...input, url: `${receiver.url}/other` })).toEqual(taken)
    const { alertWebhookId } = await create()
    expect(await faultsOf('updateAlertWebhook', { alertWebhookId, name: 'ops' })).toEqual(taken)
  })

  it('are refused with every fault', async () => {
    const wrong = { name: '', format: 'SLACK', url: 'ftp://x', link: 'nowhere', reason: '' }
    expect(await faultsOf('createAlertWebhook', wrong)).toEqual([
      'name: must be 1 to 64 characters',
      'url: must be an absolute http or https URL',
      'link: must be an absolute http or https URL',
      'reason: must be 1 to 500 characters',
    ])
    const { alertWebhookId } = await create({ format: 'SLACK' })
    expect(await faultsOf('updateAlertWebhook', { alertWebhookId, newSecret: true })).toEqual([
      'newSecret: is for the format STANDARD: the others sign nothing',
    ])
    await Promise.all(times(9, () => create()))
    expect(await faultsOf('createAlertWebhook', { name: 'x', format: 'SLACK', url: 'http://x.example' })).toEqual([
      'environment: has 10 alert webhooks, the most that it can have',
    ])
  })

  it('are tried by a test, which says how it went and changes nothing', async () => {
    const { alertWebhookId } = await create({ format: 'SLACK' })
    const attempt = 'hasArrived status error milliseconds'
    const test = () => must('testAlertWebhook', { alertWebhookId }, attempt)
    expect(await test()).toEqual({ hasArrived: true, status: 204, error: null, milliseconds: expect.any(Number) })
    expect(received()[0].text).toContain('This is a test')
    receiver.answer(status(302))
    expect(await test()).toMatchObject({ hasArrived: false, status: 302 })
    receiver.answer((_hit, response) => void response.destroy())
    expect(await test()).toMatchObject({ hasArrived: false, status: null, error: 'RESET' })
    expect(await list()).toMatchObject([{ sentAt: null, failure: null }])
  })
})

describe('without private addresses', () => {
  it('an alert webhook cannot have one, nor a name that leads to one', async () => {
    const strict = await startGame({ WEBHOOK_PRIVATE_ADDRESSES: 'deny' })
    const { data, errors } = await strict.graphql(
      strict.platformKey,
      `mutation { createAlertWebhook(input: { environment: "production", name: "x", format: SLACK, reason: "x",
        url: "http://127.0.0.1:1/" }) { secret } }`,
    )
    expect([data?.createAlertWebhook ?? null, errors?.[0]?.extensions.details]).toEqual([
      null,
      [{ path: 'url', message: expect.stringContaining('must not be a private address') }],
    ])
    await strict.stop()
    const guarded = createAlertSender({
      allowPrivateAddresses: false,
      lookup: (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
    })
    const target = { format: 'slack', url: receiver.url.replace('127.0.0.1', 'rebound.example'), secret: null } as const
    const message = {
      id: 'msg_1',
      at: '',
      project: '',
      environment: '',
      link: null,
      isTest: true,
      began: [],
      ended: [],
    }
    expect(await guarded.send(target, message)).toMatchObject({ status: null, error: 'private_address' })
    expect(receiver.hits).toEqual([])
    await guarded.close()
  })
})

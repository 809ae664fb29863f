import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../src/db/ids.ts'
import { inboxMessages } from '../../src/game/inbox/messages.ts'
import { type TestPlayer, times } from '../harness/game.ts'
import { settled } from '../harness/settled.ts'
import { codeOf, type Input, payload, support } from '../support/desk.ts'
import {
  admin,
  closeDesk,
  game,
  MAX_INT64,
  NOBODY,
  openDesk,
  operator,
  other,
  rowsOf,
} from '../support/support-desk.ts'

beforeAll(openDesk)
afterAll(closeDesk)

const EN = { language: 'en', title: 'Sorry', body: 'Here is some gold.' }
const PT = { language: 'pt-BR', title: 'Desculpe', body: '' }
const GOLD = [{ currency: 'gold', amount: 5 }]
const granted = (amount: number, currency = 'gold') => ({ amount, currency, itemId: null })

let keys = 0
const send = ({ playerId }: { readonly playerId: string }, input: Input = {}, key = operator.key) => {
  keys += 1
  const defaults = { text: [EN], rewards: GOLD, allowNew: true, reason: 'test', idempotencyKey: `message-${keys}` }
  return support(game, key, 'sendMessage', { playerId, ...defaults, ...input })
}
const sent = async (player: { readonly playerId: string }, input?: Input): Promise<string> =>
  payload(await send(player, input)).messageId
const withdraw = ({ playerId }: { readonly playerId: string }, messageId: string) =>
  support(game, operator.key, 'cancelMessage', { playerId, messageId, reason: 'a mistake' })

const call = (player: TestPlayer, name: string, body: object = {}) => player.post(`/sdk/v1/inbox/${name}`, body)
const list = async (player: TestPlayer, body: object = {}) => (await call(player, 'list', body)).body
const claim = async (player: TestPlayer, messageId: string, more: object = {}) =>
  (await call(player, 'claim', { messageId, ...more })).body

/** A call on the other instance. */
async function elsewhere(player: TestPlayer, path: string, body: object) {
  const headers = { authorization: `Bearer ${player.token}`, 'content-type': 'application/json' }
  const response = await fetch(`${other.baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  return { body: await response.json() }
}

const expire = (messageId: string, days = 0) =>
  game.app.pool.query("UPDATE inbox_messages SET expires_at = now() - $2 * interval '1 day' WHERE id = $1", [
    messageId,
    days,
  ])
const ledgerOf = async ({ playerId }: TestPlayer) => {
  const { rows } = await game.app.pool.query(
    `SELECT currency, amount::int, reference FROM wallet_ledger WHERE player_id = $1 AND reason = 'inbox_claim' ORDER BY id`,
    [playerId],
  )
  return rows
}
/** Messages that were there before, as many as this. */
const fill = ({ environmentId, playerId }: TestPlayer, count: number, rewards = '[]') =>
  game.app.pool.query(
    `INSERT INTO inbox_messages (environment_id, player_id, id, kind, rewards, reference, expires_at)
     SELECT $1, $2, unnest($3::uuid[]), 'message', $4, 'test', now() + interval '1 hour'`,
    [environmentId, playerId, times(count, newId), rewards],
  )

describe('the list', () => {
  it('has the newest message first, in the language that fits best, with counts of the whole inbox', async () => {
    const player = await game.player()
    const first = await sent(player, { text: [EN, PT], image: 'ui/sorry', expiresInDays: 7 })
    const last = await sent(player, { text: null, image: null, rewards: [{ itemId: 'hat', amount: 1 }] })
    const { messages, ...counts } = await list(player, { language: 'PT' })
    expect(counts).toEqual({ unread: 2, unclaimed: 2, cursor: null })
    expect(messages.map(({ messageId }: { messageId: string }) => messageId)).toEqual([last, first])
    expect(messages[0]).toMatchObject({ title: null, body: null, language: null, image: null })
    expect(messages[1]).toMatchObject({
      ...{ kind: 'message', title: 'Desculpe', body: '', language: 'pt-BR', rewards: [granted(5)] },
      ...{ image: 'ui/sorry', isRead: false, isClaimed: false, scenarioId: null, nodeId: null },
    })
    expect(Date.parse(messages[1].expiresAt) - Date.parse(messages[1].sentAt)).toBe(7 * 86_400_000)
    await game.setAccountPolicy({ clientProfile: 'ALLOW' })
    await player.post('/sdk/v1/player/update', { language: 'pt' })
    const languages = async (body: object) =>
      (await list(player, body)).messages.map(({ language }: { language: string }) => language)
    expect([await languages({}), await languages({ language: 'ja' })]).toEqual([
      [null, 'pt-BR'],
      [null, 'en'],
    ])
  })

  it('comes in pages, without messages that have expired', async () => {
    const player = await game.player()
    const ids = [await sent(player), await sent(player), await sent(player), await sent(player)]
    await expire(ids[1] ?? '')
    const pages: string[][] = []
    for (let cursor: string | null = null, more = true; more; more = cursor !== null) {
      const page = await list(player, { limit: 2, cursor })
      pages.push(page.messages.map(({ messageId }: { messageId: string }) => messageId))
      expect(page).toMatchObject({ unread: 3, unclaimed: 3 })
      cursor = page.cursor
    }
    expect(pages).toEqual([[ids[3], ids[2]], [ids[0]]])
    expect((await call(player, 'list', { cursor: 'x', limit: 101 })).body.details).toEqual([
      { path: 'limit', message: 'must be 1 to 100' },
      { path: 'cursor', message: 'must be a cursor that this service gave' },
    ])
  })
})

describe('a claim', () => {
  it('grants once, on whichever instance it is repeated, also after the message has expired', async () => {
    const player = await game.player()
    const messageId = await sent(player, { rewards: [...GOLD, { itemId: 'hat', amount: 2 }] })
    const body = { messageId, idempotencyKey: null }
    const outcomes = await Promise.all(
      times(6, async (index) => {
        const at = index % 2 === 0 ? call(player, 'claim', body) : elsewhere(player, '/sdk/v1/inbox/claim', body)
        return (await at).body
      }),
    )
    const rewards = [granted(5), { amount: 2, currency: null, itemId: 'hat' }]
    expect(outcomes.filter(({ alreadyClaimed }) => !alreadyClaimed)).toHaveLength(1)
    await expire(messageId)
    for (const outcome of [...outcomes, await claim(player, messageId.toUpperCase())])
      expect(outcome).toMatchObject({ success: true, error: null, granted: rewards })
    expect(await ledgerOf(player)).toEqual([{ currency: 'gold', amount: 5, reference: `inbox/${messageId}` }])
    const { rows } = await game.app.pool.query('SELECT amount::int FROM inventory WHERE player_id = $1', [
      player.playerId,
    ])
    expect(rows).toEqual([{ amount: 2 }])
  })

  it('of a message without rewards succeeds, and marks it as read', async () => {
    const player = await game.player()
    const messageId = await sent(player, { rewards: [] })
    expect(await list(player)).toMatchObject({ unread: 1, unclaimed: 0 })
    const claimed = { success: true, alreadyClaimed: false, error: null, granted: [] }
    expect(await claim(player, messageId)).toEqual(claimed)
    expect(await claim(player, messageId)).toEqual({ ...claimed, alreadyClaimed: true })
    expect(await list(player)).toMatchObject({ unread: 0, messages: [{ isRead: true, isClaimed: true }] })
  })

  it('is refused as data, and the key of a refused one can be used again', async () => {
    const player = await game.player({ wallet: { gold: MAX_INT64 - 4n } })
    const [full, expired, gone] = [await sent(player), await sent(player), await sent(player)]
    await expire(expired)
    expect(payload(await withdraw(player, gone)).changed).toBe(true)
    for (const [messageId, error] of [
      [full, 'balance limit exceeded'],
      [expired, 'message expired'],
      [gone, 'message not found'],
      [NOBODY, 'message not found'],
    ] as const)
      expect(await claim(player, messageId, { idempotencyKey: 'again' })).toEqual({
        ...{ success: false, alreadyClaimed: false, error, granted: [] },
      })
    expect(await list(player)).toMatchObject({ unread: 1, unclaimed: 1 })
    await support(game, operator.key, 'debitWallet', {
      ...{ playerId: player.playerId, currency: 'gold', amount: 1n, reason: 'room', idempotencyKey: 'room' },
    })
    expect(await claim(player, full, { idempotencyKey: 'again' })).toMatchObject({ success: true })
  })

  it('and a withdrawal at once leave either the rewards or nothing', async () => {
    const player = await game.player()
    const ids = await Promise.all(times(6, () => sent(player)))
    const outcomes = await Promise.all(
      ids.map(async (messageId) => {
        const [claimed, withdrawn] = await Promise.all([
          elsewhere(player, '/sdk/v1/inbox/claim', { messageId }),
          withdraw(player, messageId),
        ])
        expect(payload(withdrawn).changed).toBe(!claimed.body.success)
        return claimed.body.success ? [messageId] : []
      }),
    )
    const references = (await ledgerOf(player)).map(({ reference }) => reference)
    expect(references.sort()).toEqual(
      outcomes
        .flat()
        .map((id) => `inbox/${id}`)
        .sort(),
    )
  })
})

describe('a claim of all messages', () => {
  it('grants what fits, the oldest first, and says what remains', async () => {
    const player = await game.player({ wallet: { gold: MAX_INT64 - 7n } })
    const silver = [{ currency: 'silver', amount: 1 }]
    const ids = [await sent(player), await sent(player), await sent(player, { rewards: silver })]
    await sent(player, { rewards: [] })
    const body = { idempotencyKey: 'all' }
    const claimed = [
      { messageId: ids[0], granted: [granted(5)] },
      { messageId: ids[2], granted: [granted(1, 'silver')] },
    ]
    const answers = [await call(player, 'claim-all', body), await call(player, 'claim-all', body)]
    for (const answer of answers) expect(answer.body).toEqual({ claimed, remaining: 1, error: null })
    expect((await call(player, 'claim-all')).body).toEqual({
      ...{ claimed: [], remaining: 1, error: 'balance limit exceeded' },
    })
    expect(await list(player)).toMatchObject({ unread: 2, unclaimed: 1 })
  })

  it('takes a hundred messages a call', async () => {
    const player = await game.player()
    await fill(player, 101, '[{"amount":1,"currency":"gold","itemId":null}]')
    const counts = async () => {
      const { claimed, remaining, error } = (await call(player, 'claim-all')).body
      return [claimed.length, remaining, error]
    }
    expect([await counts(), await counts(), await counts()]).toEqual([
      [100, 1, null],
      [1, 0, null],
      [0, 0, null],
    ])
    expect(await ledgerOf(player)).toHaveLength(101)
  })
})

it('messages are marked as read, and unknown ones are passed over', async () => {
  const player = await game.player()
  const [one, two] = [await sent(player), await sent(player)]
  const read = async (messageIds: string[]) => (await call(player, 'read', { messageIds })).body
  expect(await read([one, NOBODY, one.toUpperCase()])).toEqual({ unread: 1 })
  expect(await read([one, two])).toEqual({ unread: 0 })
  expect(await list(player)).toMatchObject({ unclaimed: 2, messages: [{ isRead: true }, { isRead: true }] })
  expect((await call(player, 'read', { messageIds: [] })).body.details).toEqual([
    { path: 'messageIds', message: 'must not be empty' },
  ])
})

describe('a message of support', () => {
  it('is told in an event, is in the audit log without its text, and is sent once for each key', async () => {
    const player = await game.player()
    const events = game.subscribe(
      player.token,
      'subscription { onInboxMessage { type playerId messageId kind rewards { amount currency itemId } expiresAt } }',
    )
    // The subscription is open once an event arrives.
    const idempotencyKey = 'twice'
    const image = 'https://cdn.example.com/sorry.png'
    const [one, two] = [await send(player, { idempotencyKey, image }), await send(player, { idempotencyKey, image })]
    const { messageId } = payload(one)
    expect(payload(two).messageId).toBe(messageId)
    for (const other of [{ image, expiresInDays: 1 }, { image: null }])
      expect(codeOf(await send(player, { idempotencyKey, ...other }))).toBe('IDEMPOTENCY_KEY_REUSED')
    const { messages } = await list(player)
    expect(messages).toHaveLength(1)
    await settled(game.app.pool)
    const { data } = await game.graphql(
      player.token,
      `{ me { inbox { nodes { id messageId kind texts { language title body } image rewards { amount currency } reference claimedAt } } } }`,
    )
    const audit = (await rowsOf(player)).filter(({ action }) => action === 'player.send_message')
    expect(audit).toMatchObject([
      {
        before: null,
        after: { messageId, rewards: [granted(5)], languages: ['en'], expiresAt: messages[0].expiresAt },
      },
    ])
    expect(data.me.inbox.nodes).toEqual([
      {
        ...{ id: `InboxMessage:${player.playerId}/${messageId}`, messageId, kind: 'MESSAGE', texts: [EN], image },
        ...{ rewards: [{ amount: '5', currency: 'gold' }], reference: expect.stringMatching(/^support\//) },
        claimedAt: null,
      },
    ])
    const { data: history } = await game.graphql(
      game.platformKey,
      `query ($playerId: ID) { events(environment: "production", playerId: $playerId, types: [INBOX_RECEIVED]) {
        nodes { data ... on InboxReceivedEvent { messageId kind rewards { amount } expiresAt } } } }`,
      { playerId: player.playerId },
    )
    const { expiresAt } = messages[0]
    const rewards = [{ amount: '5', currency: 'gold', itemId: null }]
    expect(history.events.nodes).toEqual([
      {
        ...{ messageId, kind: 'MESSAGE', rewards: [{ amount: '5' }], expiresAt },
        data: { messageId, kind: 'message', rewards, expiresAt },
      },
    ])
    await events.close()
  })

  it('follows the rules of credits, with each currency in all, and needs a text or rewards', async () => {
    const player = await game.player()
    await support(game, admin.key, 'creditWallet', {
      ...{ playerId: player.playerId, currency: 'gold', amount: 1n, reason: 'test', idempotencyKey: 'one' },
    })
    const limit = `mutation { setCreditLimit(input: { environment: "production", currency: "gold", limit: 8, reason: "test" }) { currency { name } } }`
    expect((await game.graphql(game.platformKey, limit)).errors).toBeUndefined()
    const twice = [...GOLD, ...GOLD]
    const outcomes = [
      await send(player, { allowNew: false, rewards: [{ currency: 'glod', amount: 1 }] }),
      await send(player, { rewards: twice }),
      await send(player, { rewards: GOLD }),
      await send(player, { rewards: twice }, admin.key),
      await send(player, { rewards: [], text: null }),
      await send(player, { rewards: [{}] }),
      await send(player, {
        rewards: [{ currency: 'gold', itemId: 'hat', amount: 0 }],
        text: [EN, { ...EN, language: 'EN' }],
        image: 'a\nb',
      }),
    ]
    expect(outcomes.map(codeOf)).toEqual([
      ...[
        'UNKNOWN_CURRENCY',
        'CREDIT_LIMIT_EXCEEDED',
        'ok',
        'ok',
        'INVALID_REQUEST',
        'INVALID_REQUEST',
        'INVALID_REQUEST',
      ],
    ])
    expect(outcomes.at(-1)).toMatchObject({
      details: [
        { path: 'text[1].language', message: 'is there twice, in any letter case' },
        { path: 'image', message: 'must not contain control characters' },
        { path: 'rewards[0].amount', message: `must be 1 to ${MAX_INT64}` },
        { path: 'rewards[0]', message: 'must have exactly one of currency, itemId and boost' },
      ],
    })
    await game.graphql(game.platformKey, limit.replace('limit: 8', 'limit: null'))
  })

  it('is refused by a full inbox, however many are sent at once; expired ones do not count', async () => {
    const player = await game.player()
    await fill(player, 499)
    const outcomes = await Promise.all(times(4, () => send(player)))
    expect(outcomes.map(codeOf).sort()).toEqual(['INBOX_FULL', 'INBOX_FULL', 'INBOX_FULL', 'ok'])
    const { messages } = await list(player, { limit: 1 })
    await expire(messages[0].messageId)
    expect(codeOf(await send(player))).toBe('ok')
  })

  it('is withdrawn once, unless it was claimed', async () => {
    const player = await game.player()
    const [one, two] = [await sent(player), await sent(player)]
    await claim(player, two)
    const changed = async (id: string) => payload(await withdraw(player, id)).changed
    expect([await changed(one), await changed(one), await changed(two), await changed(NOBODY)]).toEqual([
      ...[true, false, false, false],
    ])
    expect((await list(player)).messages).toMatchObject([{ messageId: two, isClaimed: true }])
  })
})

it('a banned player is refused, and finds its messages after the ban; of a deleted one nothing is left', async () => {
  const player = await game.player()
  const messageId = await sent(player)
  const act = (mutation: 'banPlayer' | 'unbanPlayer' | 'deletePlayer') =>
    support(game, operator.key, mutation, { playerId: player.playerId, reason: 'test' })
  await act('banPlayer')
  for (const [name, body] of [
    ['list', {}],
    ['claim', { messageId }],
    ['claim-all', {}],
    ['read', { messageIds: [messageId] }],
  ] as const)
    expect((await call(player, name, body)).body.error).toBe('player banned')
  expect(codeOf(await send(player))).toBe('ok')
  await act('unbanPlayer')
  expect(await list(player)).toMatchObject({ unread: 2 })
  const [, answer] = await Promise.all([act('deletePlayer'), call(player, 'claim', { messageId })])
  expect([200, 403]).toContain(answer.status)
  expect(codeOf(await send(player))).toBe('PLAYER_DELETED')
  const { rows } = await game.app.pool.query('SELECT FROM inbox_messages WHERE player_id = $1', [player.playerId])
  expect(rows).toEqual([])
})

it('expired messages are kept for a week', async () => {
  const player = await game.player()
  const [old, recent] = [await sent(player), await sent(player)]
  await expire(old, 8)
  await expire(recent, 6)
  expect(await inboxMessages.purge(game.app.pool)).toBe(1)
  expect([(await claim(player, old)).error, (await claim(player, recent)).error]).toEqual([
    ...['message not found', 'message expired'],
  ])
})

import { randomBytes } from 'node:crypto'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { type Answer, times } from '../harness/game.ts'
import { until } from '../harness/until.ts'
import {
  by,
  countGame,
  game,
  newSubject,
  operator,
  other,
  playerOf,
  postTo,
  profileOf,
  query,
  startLogins,
  stopLogins,
  storageOf,
} from './logins.ts'

// A link that meets another player, and the ticket that leads there.

beforeAll(async () => {
  await startLogins()
  const { status } = await game.request('PUT', `/platform/v1/projects/${game.projectId}/auth-providers`, {
    body: print({ environment: 'production', authProviders: { device: { enabled: true } } }),
    headers: { authorization: `Bearer ${game.platformKey}` },
  })
  expect(status).toBe(200)
  await game.setAccountPolicy({ linkTickets: true })
})
afterAll(stopLogins)

const SWITCH = '/sdk/v1/authorization/switch'
type At = { readonly baseUrl: string }

const asClient = (body: object, path: string, at: At = game) =>
  postTo(at.baseUrl, path, { 'x-sdk-key': game.sdkKey }, JSON.stringify(body))
const asPlayer = (token: string, body: object, path: string, at: At = game) =>
  postTo(at.baseUrl, path, { 'x-sdk-key': game.sdkKey, authorization: `Bearer ${token}` }, JSON.stringify(body))
const newGuest = async (): Promise<{ accessToken: string; refreshToken: string }> =>
  (await asClient({ deviceId: randomBytes(24).toString('base64url') }, '/sdk/v1/authorization/device')).body

/** A guest whose link has met the player of a subject. */
async function meeting(subject = newSubject()) {
  const owner = playerOf(await game.login(by(subject)))
  const guest = await newGuest()
  const refused = await game.link(guest.accessToken, by(subject))
  expect([refused.status, refused.body.code]).toEqual([409, 'identity_already_linked'])
  return {
    subject,
    owner,
    guest,
    conflict: refused.body.details.conflict,
    ticket: refused.body.details.conflict.ticket,
  }
}

const rejected = ({ status, body }: Pick<Answer, 'status' | 'body'>) => [
  status,
  body?.code,
  body?.details?.[0]?.message,
]
const REJECTED = (message: string) => [401, 'ticket_rejected', message]

describe('a ticket of a link that met another player', () => {
  it('signs in to that player, once; the guest stays as it is', async () => {
    const { subject, owner, guest, conflict, ticket } = await meeting()
    const left = Date.parse(conflict.expiresAt) - Date.now()
    expect(left).toBeGreaterThan(9 * 60_000)
    expect(left).toBeLessThanOrEqual(10 * 60_000)
    expect(ticket).not.toContain(subject)
    const answer = await asPlayer(guest.accessToken, { ticket, deviceName: 'Pixel 9' }, SWITCH)
    expect(playerOf(answer)).toBe(owner)
    const { body } = await asPlayer(answer.body.accessToken, {}, '/sdk/v1/sessions/list')
    expect(body.sessions[0]).toMatchObject({ device: 'Pixel 9', isCurrent: true })
    expect(rejected(await asPlayer(guest.accessToken, { ticket }, SWITCH))).toEqual(REJECTED('was used before'))
    const own = await asPlayer(guest.accessToken, {}, '/sdk/v1/identities/list')
    expect(own.body.identities.map(({ provider }: { provider: string }) => provider)).toEqual(['device'])
    const log = await query('SELECT operation, outcome FROM login_log WHERE player_id = $1 ORDER BY id', [owner])
    expect(log).toEqual([
      { operation: 'login', outcome: 'ok' },
      { operation: 'login', outcome: 'ok' },
      { operation: 'login', outcome: 'ticket_rejected' },
    ])
  })

  it('is given and taken over GraphQL, too', async () => {
    const subject = newSubject()
    const owner = playerOf(await game.login(by(subject)))
    const guest = await newGuest()
    const headers = { authorization: `Bearer ${guest.accessToken}`, 'x-sdk-key': game.sdkKey }
    const { errors } = await game.graphql(
      headers,
      'mutation ($input: LinkCustomInput!) { linkCustom(input: $input) { identity { subject } } }',
      { input: { customData: by(subject) } },
    )
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'IDENTITY_ALREADY_LINKED',
      details: { conflict: { ticket: expect.stringMatching(/^v1\./), expiresAt: expect.any(String) } },
    })
    const [{ extensions }] = errors as unknown as [{ extensions: { details: { conflict: { ticket: string } } } }]
    const { ticket } = extensions.details.conflict
    const { data } = await game.graphql(
      headers,
      'mutation ($input: SwitchPlayerInput!) { switchPlayer(input: $input) { accessToken } }',
      { input: { ticket } },
    )
    const me = await game.graphql(data.switchPlayer.accessToken, '{ me { playerId } }')
    expect(me.data.me.playerId).toBe(owner)
  })

  it('works for one of two calls at once, on two instances', async () => {
    for (const _ of times(5, () => 0)) {
      const { guest, ticket } = await meeting()
      const answers = await Promise.all([game, other].map((at) => asPlayer(guest.accessToken, { ticket }, SWITCH, at)))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 401])
    }
  })

  it('works for nobody else, for no other login of the same guest, and in no other environment', async () => {
    const { guest, ticket, subject } = await meeting()
    const thief = await newGuest()
    const FOREIGN = REJECTED('must be one that this login was given')
    expect(rejected(await asPlayer(thief.accessToken, { ticket }, SWITCH))).toEqual(FOREIGN)
    const [own] = (await asPlayer(guest.accessToken, {}, '/sdk/v1/identities/list')).body.identities
    expect(own.provider).toBe('device')
    const second = newSubject()
    expect((await game.link(guest.accessToken, by(second))).status).toBe(204)
    const again = await game.login(by(second))
    expect(rejected(await asPlayer(again.body.accessToken, { ticket }, SWITCH))).toEqual(FOREIGN)
    for (const broken of [ticket.slice(0, -2), `${ticket}A`, 'v1.a.b.c', 'x', subject])
      expect(rejected(await asPlayer(guest.accessToken, { ticket: broken }, SWITCH))).toEqual(FOREIGN)
    const staging = await postTo(
      game.baseUrl,
      SWITCH,
      { 'x-sdk-key': game.stagingSdkKey, authorization: `Bearer ${guest.accessToken}` },
      JSON.stringify({ ticket }),
    )
    expect(staging.status).toBe(401)
    expect((await asPlayer(guest.accessToken, { ticket }, SWITCH)).status).toBe(200)
  })

  it('is rejected after ten minutes, after the identity was removed, and after the login of the guest has ended', async () => {
    const late = await meeting()
    const context = { projectId: game.projectId, environmentId: game.environmentId, kind: 'ticket', name: 'switch' }
    const { secrets } = game.app.service
    const sealed = { ...JSON.parse(secrets.open(late.ticket, context)), expiresAt: Date.now() - 1 }
    const old = secrets.seal(JSON.stringify(sealed), context)
    expect(rejected(await asPlayer(late.guest.accessToken, { ticket: old }, SWITCH))).toEqual(REJECTED('has expired'))

    const removed = await meeting()
    await query('DELETE FROM identities WHERE subject = $1', [removed.subject])
    expect(rejected(await asPlayer(removed.guest.accessToken, { ticket: removed.ticket }, SWITCH))).toEqual(
      REJECTED('must be of an identity that a player has: it was removed'),
    )
    expect(await query('SELECT FROM identities WHERE subject = $1', [removed.subject])).toEqual([])

    const ended = await meeting()
    await asPlayer(ended.guest.accessToken, { session: 'all' }, '/sdk/v1/sessions/end')
    await until('the access token has ended', async () => {
      const { status } = await asPlayer(ended.guest.accessToken, { ticket: 'none' }, SWITCH)
      return status === 401
    })
    const refused = await asPlayer(ended.guest.accessToken, { ticket: ended.ticket }, SWITCH)
    expect([refused.status, refused.body.code]).toEqual([401, 'invalid_token'])
  })

  it('does not lead to a banned player', async () => {
    const { owner, guest, ticket } = await meeting()
    const { errors } = await game.graphql(
      game.platformKey,
      'mutation ($input: BanPlayerInput!) { banPlayer(input: $input) { auditEntry { id } } }',
      { input: { playerId: owner, reason: 'cheating' } },
    )
    expect(errors).toBeUndefined()
    const refused = await asPlayer(guest.accessToken, { ticket }, SWITCH)
    expect([refused.status, refused.body.code]).toEqual([403, 'player_banned'])
  })

  it('brings nothing of what the webhook said of the refused link', async () => {
    const subject = newSubject()
    const owner = playerOf(await game.login(by(subject, { nickname: 'Ada', data: { kept: 1 } })))
    const guest = await newGuest()
    const said = {
      nickname: 'Eve',
      avatarUrl: 'https://a.example/eve.png',
      claims: { role: 'thief' },
      data: { new: 2 },
    }
    const refused = await game.link(guest.accessToken, by(subject, said))
    expect(refused.status).toBe(409)
    const { ticket } = refused.body.details.conflict
    const hits = operator.hits.length
    const { body } = await asPlayer(guest.accessToken, { ticket }, SWITCH)
    expect(operator.hits.length, 'the webhook is not asked').toBe(hits)
    expect(decodeJwt(body.accessToken)).not.toHaveProperty('claims')
    const renewed = await asClient({ refreshToken: body.refreshToken }, '/sdk/v1/authorization/refresh')
    expect(decodeJwt(renewed.body.accessToken)).not.toHaveProperty('claims')
    expect(await profileOf(owner)).toMatchObject({ nickname: 'Ada', avatar_url: null })
    expect(await storageOf(owner)).toEqual({ kept: '1' })
    const guestId = decodeJwt(guest.accessToken).sub ?? ''
    expect(await profileOf(guestId)).toMatchObject({ nickname: null, avatar_url: null })
    expect(await storageOf(guestId)).toEqual({})
    const logged = await query('SELECT attempts, notes FROM login_log WHERE player_id = ANY($1)', [[owner, guestId]])
    expect(JSON.stringify(logged)).not.toMatch(/Eve|thief|eve\.png/)
  })
})

describe('an environment without tickets', () => {
  it('answers a refused link as the contract does, and takes no ticket from before', async () => {
    const { guest, ticket, subject } = await meeting()
    await game.setAccountPolicy({})
    const headers = { authorization: `Bearer ${guest.accessToken}`, 'x-sdk-key': game.sdkKey }
    const before = await countGame()
    const refused = await game.link(guest.accessToken, by(subject))
    expect([refused.status, refused.body]).toEqual([
      409,
      { error: 'identity already linked', code: 'identity_already_linked', requestId: expect.any(String) },
    ])
    const { errors } = await game.graphql(
      headers,
      'mutation ($input: LinkCustomInput!) { linkCustom(input: $input) { identity { subject } } }',
      { input: { customData: by(subject) } },
    )
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'IDENTITY_ALREADY_LINKED' })
    expect(errors?.[0]?.extensions).not.toHaveProperty('details')
    expect(rejected(await asPlayer(guest.accessToken, { ticket }, SWITCH))).toEqual(
      REJECTED('must be of an environment that takes tickets'),
    )
    expect(await countGame()).toEqual(before)
    await game.setAccountPolicy({ linkTickets: true })
    expect((await asPlayer(guest.accessToken, { ticket }, SWITCH)).status).toBe(200)
  })
})

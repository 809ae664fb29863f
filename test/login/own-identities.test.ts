import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestPlayer, times } from '../harness/game.ts'
import { outcomeOfGraphql, outcomeOfRest } from '../harness/surfaces.ts'
import { by, game, newSubject, other, playerOf, postTo, query, startLogins, stopLogins } from './logins.ts'

// The player's own say: its identities and its profile. Others' say is in test/support.

beforeAll(startLogins)
afterAll(stopLogins)

const LIST = '/sdk/v1/identities/list'
const UNLINK = '/sdk/v1/identities/unlink'
const UPDATE = '/sdk/v1/player/update'
const NOT_FOUND = { code: 'NOT_FOUND', message: 'not found' }
const LAST = { code: 'LAST_IDENTITY', message: 'last identity' }

/** A player with these subjects of the default provider. */
async function playerWith(...subjects: readonly string[]): Promise<TestPlayer> {
  const player = await game.player()
  for (const subject of subjects) expect((await game.link(player.token, by(subject))).status).toBe(204)
  return player
}

const SURFACES: readonly [string, (player: TestPlayer, subject: string, provider?: string) => Promise<unknown>][] = [
  [
    'REST',
    async (player, subject, provider = 'custom') => {
      const { status, text, body, ...answer } = await player.post(UNLINK, { provider, subject })
      return status === 204 ? text : outcomeOfRest({ status, text, body, ...answer })
    },
  ],
  [
    'GraphQL',
    async (player, subject, provider = 'custom') => {
      const answer = await player.graphql(
        `mutation ($input: UnlinkOwnIdentityInput!) { unlinkOwnIdentity(input: $input) { identity { subject } } }`,
        { input: { provider, subject } },
      )
      return answer.errors ? outcomeOfGraphql(answer) : ''
    },
  ],
]

describe.each(SURFACES)('an identity that its player removes over %s', (_surface, unlink) => {
  it('is free for another player, and logs in nobody else meanwhile; logins go on', async () => {
    const [kept, freed] = [newSubject(), newSubject()]
    const player = await playerWith(kept, freed)
    expect(await unlink(player, freed)).toBe('')
    const { body } = await player.post(LIST, {})
    expect(body).toEqual({
      identities: [{ provider: 'custom', subject: kept, createdAt: expect.stringMatching(/^\d{4}-.*Z$/) }],
    })
    expect(playerOf(await game.login(by(freed)))).not.toBe(player.playerId)
    expect(playerOf(await game.login(by(kept)))).toBe(player.playerId)
    expect(await unlink(player, freed)).toEqual(NOT_FOUND)
  })

  it('is kept when it is the last one, and not found when it is of another player or of no provider', async () => {
    const [own, foreign] = [newSubject(), newSubject()]
    const player = await playerWith(own)
    await playerWith(foreign)
    expect(await unlink(player, own)).toEqual(LAST)
    expect(await unlink(player, foreign)).toEqual(NOT_FOUND)
    expect(await unlink(player, own, 'custom:steam')).toEqual(NOT_FOUND)
    expect(playerOf(await game.login(by(own)))).toBe(player.playerId)
  })
})

describe('identities that are removed at once', () => {
  it('never leave their player without one, on two instances', async () => {
    for (const _ of times(5, () => 0)) {
      const subjects = times(4, newSubject)
      const player = await playerWith(...subjects)
      const answers = await Promise.all(
        subjects.map((subject, index) =>
          postTo(
            (index % 2 === 0 ? game : other).baseUrl,
            UNLINK,
            { authorization: `Bearer ${player.token}` },
            JSON.stringify({ provider: 'custom', subject }),
          ),
        ),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([204, 204, 204, 409])
      const left = await query('SELECT subject FROM identities WHERE player_id = $1', [player.playerId])
      expect(left).toHaveLength(1)
    }
  })

  it('are of one player each when another one links them at the same time', async () => {
    for (const _ of times(5, () => 0)) {
      const [kept, moved] = [newSubject(), newSubject()]
      const [one, two] = [await playerWith(kept, moved), await playerWith(newSubject())]
      const [removed, linked] = await Promise.all([
        one.post(UNLINK, { provider: 'custom', subject: moved }),
        game.link(two.token, by(moved)),
      ])
      expect(removed.status).toBe(204)
      expect([204, 409]).toContain(linked.status)
      const owners = await query('SELECT player_id FROM identities WHERE subject = $1', [moved])
      expect(owners).toEqual(linked.status === 204 ? [{ player_id: two.playerId }] : [])
    }
  })
})

describe('the profile that a player changes', () => {
  const mutation =
    'mutation ($input: UpdateProfileInput!) { updateProfile(input: $input) { player { nickname region language } } }'
  const PROVIDERS: readonly (readonly [what: string, authProviders: object, isChanged: boolean])[] = [
    ['a webhook alone', {}, false],
    ['a block of Google that is only stored', { google: { webClientId: '1' } }, false],
    ['guests that are disabled', { device: { enabled: false } }, false],
    ['guests', { device: { enabled: true } }, true],
    ['Google', { google: { enabled: true, clientIds: ['1'] } }, true],
    ['Apple', { apple: { enabled: true, clientIds: ['1'] } }, true],
    ['an issuer', { oidc: { corp: { enabled: true, issuer: 'https://id.example.com', audiences: ['1'] } } }, true],
  ]
  const NONE = { google: null, apple: null, oidc: {}, device: { enabled: false } }
  const provide = async (authProviders: object) => {
    const { status } = await game.request('PUT', `/platform/v1/projects/${game.projectId}/auth-providers`, {
      body: JSON.stringify({ environment: 'production', authProviders: { ...NONE, ...authProviders } }),
      headers: { authorization: `Bearer ${game.platformKey}` },
    })
    expect(status).toBe(200)
  }

  /** Whether a player changes its profile, which REST and GraphQL decide alike. Refused, it stays as it is. */
  async function changes(): Promise<boolean> {
    const player = await playerWith(newSubject())
    const { status, text, body } = await player.post(UPDATE, { nickname: 'Ada', region: 'eu', language: 'en' })
    const { errors } = await player.graphql(mutation, { input: { nickname: 'Grace' } })
    const { nickname, region, language } = (await player.post('/sdk/v1/player/get', {})).body
    const profile = [nickname, region, language]
    if (status === 204) {
      expect([text, errors, profile]).toEqual(['', undefined, ['Grace', 'eu', 'en']])
      return true
    }
    expect([status, body.error, body.code, errors?.[0]?.extensions.code, profile]).toEqual([
      403,
      'profile not allowed',
      'profile_not_allowed',
      'PROFILE_NOT_ALLOWED',
      [null, null, null],
    ])
    return false
  }

  it.each(PROVIDERS)('is its own, unless a policy says otherwise, with %s: %j %s', async (_, providers, isChanged) => {
    await provide(providers)
    expect(await changes()).toBe(isChanged)
    await game.setAccountPolicy({ clientProfile: isChanged ? 'REFUSE' : 'ALLOW' })
    expect(await changes()).toBe(!isChanged)
    await game.setAccountPolicy({})
    await provide({})
  })

  it('takes the fields that are sent, over REST and GraphQL, and keeps the others', async () => {
    await game.setAccountPolicy({ clientProfile: 'ALLOW' })
    const player = await playerWith(newSubject())
    expect((await player.post(UPDATE, { nickname: 'Ada', language: 'pt-BR' })).status).toBe(204)
    expect((await player.post(UPDATE, { region: 'eu-west', nickname: null })).status).toBe(204)
    const { data } = await player.graphql(mutation, { input: { nickname: 'Grace' } })
    expect(data.updateProfile.player).toEqual({ nickname: 'Grace', region: 'eu-west', language: 'pt-BR' })
    expect((await player.post(UPDATE, {})).status).toBe(204)
    const { body } = await player.post('/sdk/v1/player/get', {})
    expect(body).toMatchObject({ nickname: 'Grace', region: 'eu-west', language: 'pt-BR' })
  })

  it('is refused with every fault at once, and stays as it is', async () => {
    const player = await playerWith(newSubject())
    const { status, body } = await player.post(UPDATE, { nickname: 'x'.repeat(129), region: '', language: 5 })
    expect(status).toBe(400)
    expect(body.details).toEqual([
      { path: 'nickname', message: 'must be 1 to 128 characters' },
      { path: 'region', message: 'must be 1 to 35 characters' },
      { path: 'language', message: 'must be a string' },
    ])
    expect((await player.post('/sdk/v1/player/get', {})).body.nickname).toBeNull()
  })
})

import { chmod, mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { type Body, listen, streamCursor } from '../../src/dev/demo-calls.ts'
import { demoSeason } from '../../src/dev/season.ts'
import type { Demo } from '../../src/dev/seed.ts'
import { createRandom } from '../../src/dev/seed-random.ts'
import { call } from '../harness/call.ts'
import { removeDataDir } from '../harness/data-dir.ts'
import type { Answer, GraphqlAnswer } from '../harness/game.ts'
import { type Operator, signatureOf, startOperator } from '../harness/operator.ts'
import { SEED } from '../harness/seed.ts'
import { buildService, type Service, SHIPPED, spawnService, stopService } from '../harness/service.ts'
import { graphqlOf, type Outcome, outcomeOfGraphql, outcomeOfRest, restOf, type Surface } from '../harness/surfaces.ts'
import { until } from '../harness/until.ts'

// A caller who knows the contract alone, on what `npm start` runs in a new folder, with its defaults. Every member of an
// answer is compared: one that the contract does not have is a fault.

interface Tier {
  readonly level: number
  readonly track: string
  readonly rewards: readonly { readonly amount: number; readonly currency?: string; readonly itemId?: string }[]
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PLACE = { scenarioId: 'season-1', nodeId: 'pass' }
const SOURCES = ['match', 'tutorial', 'practice', 'daily quest', 'событие', 's'.repeat(64), '', null, undefined]
const PASS_DATA = JSON.parse(demoSeason()).nodes.find(({ id }: { id: string }) => id === 'pass').data
const LEVELS: readonly { readonly level: number; readonly xp: number }[] = PASS_DATA.levels
const TIERS: readonly Tier[] = PASS_DATA.tiers
const TOP = LEVELS[LEVELS.length - 1] as { readonly level: number; readonly xp: number }
const ANY = expect.any(String)

let dataDir: string
let service: Service
let demo: Demo
let studio: Operator

beforeAll(async () => {
  await buildService()
  dataDir = await mkdtemp(join(tmpdir(), 'tierway-contract-'))
  // Under root, Postgres runs as another user, who must be able to enter the folder.
  await chmod(dataDir, 0o711)
  const fresh = { NODE_ENV: 'development', RATE_LIMITS: '', CONNECTION_LIMITS: '', REQUIRE_FSYNC: 'true' }
  service = spawnService({ ...fresh, TIERWAY_DATA_DIR: dataDir }, ROOT, SHIPPED)
  await until('the service is ready', () => service.baseUrl !== '' || service.exit !== undefined, {
    deadlineMs: 170_000,
  })
  if (service.exit) throw new Error(service.output)
  demo = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'))
  studio = await startOperator()
})
afterAll(async () => {
  await studio?.close()
  service?.kill('SIGTERM')
  await service?.exited
  await stopService(service)
  await removeDataDir(dataDir)
})

/** The calls of the contract that are not a player's, on one surface. */
interface Front {
  /** A login or a link, with its body. A link has the token of its caller. */
  login(body: object): Promise<Outcome>
  link(body: object, token: string): Promise<Outcome>
  settings(): Promise<unknown>
  setProvider(name: string, provider: Json): Promise<unknown>
  player(token: string): Surface
}

async function send(method: string, path: string, headers: Record<string, string>, body?: object): Promise<Answer> {
  const answer = await call(`${demo.baseUrl}${path}`, { method, headers, body: body ? print(body as Json) : null })
  return { ...answer, body: answer.text === '' ? null : JSON.parse(answer.text) }
}
const ask = async (headers: Record<string, string>, query: string, variables: object): Promise<GraphqlAnswer> =>
  (await send('POST', '/graphql', { ...headers, 'content-type': 'application/json' }, { query, variables })).body
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const client = () => ({ 'x-sdk-key': demo.sdkKey })

/** The custom providers stay: a map that is sent replaces them all. */
const withStudio = (name: string, provider: Json) => ({
  custom: { default: { enabled: true, url: defaultUrl }, [name]: provider },
})
let defaultUrl = ''

const rest: Front = {
  login: async (body) => outcomeOfRest(await send('POST', '/sdk/v1/authorization/custom', client(), body)),
  async link(body, token) {
    const answer = await send('POST', '/sdk/v1/authorization/custom/link', { ...client(), ...bearer(token) }, body)
    return answer.status === 204 ? { ok: answer.text } : outcomeOfRest(answer)
  },
  settings: async () => (await send('GET', settingsPath('?environment=production'), bearer(demo.platformKey))).body,
  async setProvider(name, provider) {
    const body = { environment: 'production', authProviders: withStudio(name, provider) }
    return (await send('PUT', settingsPath(), bearer(demo.platformKey), body)).body
  },
  player: (token) =>
    restOf({ post: (path, body, headers) => send('POST', path, { ...headers, ...bearer(token) }, body as object) }),
}
const settingsPath = (query = '') => `/platform/v1/projects/${demo.projectId}/auth-providers${query}`

const SETTINGS = 'environment custom { name enabled url hasSecret updatedAt } google apple'
const settingsOf = ({ environment, custom, google, apple }: Body) => ({
  environment,
  authProviders: {
    custom: Object.fromEntries(custom.map(({ name, ...provider }: Body) => [name, provider])),
    google,
    apple,
  },
})
const graphql: Front = {
  async login(input) {
    const query = 'mutation ($input: LoginCustomInput!) { loginCustom(input: $input) { accessToken refreshToken } }'
    return outcomeOfGraphql(await ask(client(), query, { input }))
  },
  async link(input, token) {
    const query = 'mutation ($input: LinkCustomInput!) { linkCustom(input: $input) { identity { provider } } }'
    const outcome = outcomeOfGraphql(await ask({ ...client(), ...bearer(token) }, query, { input }))
    return 'ok' in outcome ? { ok: '' } : outcome
  },
  async settings() {
    const query = `{ authProviders(environment: "production") { ${SETTINGS} } }`
    return settingsOf((await ask(bearer(demo.platformKey), query, {})).data.authProviders[0])
  },
  async setProvider(name, provider) {
    const query = `mutation ($input: SetAuthProvidersInput!) {
      setAuthProviders(input: $input) { authProviders { ${SETTINGS} } } }`
    const input = { environment: 'production', authProviders: withStudio(name, provider), reason: 'a test' }
    return settingsOf((await ask(bearer(demo.platformKey), query, { input })).data.setAuthProviders.authProviders)
  },
  player: (token) => graphqlOf({ graphql: (query, variables) => ask(bearer(token), query, variables ?? {}) }),
}

const playerIdOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).sub

const planOf = (crossed: readonly object[]) => ({
  ...{ runId: 'runId', status: 'active', crossed: expect.arrayContaining([...crossed]) },
  ...{ entered: expect.any(Array), granted: expect.any(Array) },
})
const at = (nodeId: string, handle: string) => ({ nodeId, handle })
/** The members of the parts of a plan. */
function expectParts({ entered, granted, crossed }: Body): void {
  for (const one of crossed) expect(one).toEqual({ nodeId: ANY, handle: ANY })
  for (const one of entered) expect(one).toEqual({ nodeId: ANY, type: ANY, data: expect.anything() })
  expectRewards(granted)
}
function expectRewards(granted: readonly Body[]): void {
  for (const { amount, currency, itemId, ...more } of granted)
    expect([amount, currency === null, more]).toEqual([expect.stringMatching(/^\d+$/), itemId !== null, {}])
}

const rewardsOf = ({ rewards }: Tier) =>
  rewards.map(({ amount, currency = null, itemId = null }) => ({ amount: String(amount), currency, itemId }))

describe.each([
  ['REST', rest],
  ['GraphQL', graphql],
] as const)('by the contract alone, over %s, the demo', (name, front) => {
  const random = createRandom(SEED, name.length)
  const customData = { player: `caller of ${name}`, ticket: random.whole(0, 2 ** 31) }
  let token: string

  async function logIn(body: object): Promise<string> {
    const outcome = await front.login(body)
    expect(outcome).toEqual({ ok: { accessToken: ANY, refreshToken: ANY } })
    return (outcome as Body).ok.accessToken
  }

  it('logs in, sets a webhook and links it (contract 4.2, contract 4.3, contract 4.4)', async () => {
    expect(Object.keys(demo.customData)).toEqual(['player'])
    await logIn({ customData: demo.customData })
    token = await logIn({ customData, nickname: 'Ada', region: 'eu-west', language: 'en' })
    expect(playerIdOf(await logIn({ customData, provider: 'default' }))).toBe(playerIdOf(token))
    expect(await front.login({ customData, provider: 'studio' })).toEqual({
      ...{ code: 'CUSTOM_AUTH_DISABLED', message: 'custom auth disabled' },
    })

    const before = (await front.settings()) as Body
    const shown = (url: string) => ({ enabled: true, url, hasSecret: true, updatedAt: ANY })
    defaultUrl = before.authProviders.custom.default.url
    const custom = { default: shown(defaultUrl) }
    expect(before).toEqual({ environment: 'production', authProviders: { custom, google: null, apple: null } })
    const { url, secret } = studio
    const after = { ...before, authProviders: { ...before.authProviders, custom: { ...custom, studio: shown(url) } } }
    expect(await front.setProvider('studio', { enabled: true, url, secret })).toEqual(after)
    expect(await front.settings()).toEqual(after)

    const ticket = { customData: { player: `studio ${name}`, big: random.whole(0, 2 ** 31) }, provider: 'studio' }
    expect(await front.link(ticket, token)).toEqual({ ok: '' })
    expect(await front.link(ticket, token)).toEqual({ ok: '' })
    const other = await logIn({ customData: { player: `other of ${name}` } })
    expect(await front.link(ticket, other)).toMatchObject({ message: 'identity already linked' })
    const linked = await logIn(ticket)
    expect(playerIdOf(linked)).toBe(playerIdOf(token))
    for (const { method, body, headers } of studio.hits.slice(-4)) {
      expect([method, body.toString()]).toEqual(['POST', JSON.stringify({ customData: ticket.customData })])
      expect([headers['content-type'], headers['x-signature']]).toEqual(['application/json', signatureOf(secret, body)])
    }
    await front.setProvider('studio', { enabled: false, url })
    expect(await front.login(ticket)).toMatchObject({ message: 'custom auth disabled' })
    // As it was, for the other surface.
    const removed = { custom: { default: { enabled: true, url: defaultUrl } } }
    const body = { environment: 'production', authProviders: removed }
    expect((await send('PUT', settingsPath(), bearer(demo.platformKey), body)).body.authProviders.custom).toEqual(
      custom,
    )
  })

  it('takes xp of any source, in any amount and order, up to the last level and the last claim (contract 4.1, contract 6)', async () => {
    const heard: Body[] = []
    const stop = listen(demo, {
      ...{
        environment: 'production',
        fields: 'type handle playerId nodeId',
        after: await streamCursor(demo, 'production'),
      },
      onEvent: (event) => heard.push(event),
      onError: (error) => heard.push({ error }),
    })
    token = await logIn({ customData: { player: `champion of ${name}` } })
    const player = front.player(token)
    await player.start({ scenarioId: PLACE.scenarioId })
    const runId = await runOf(token)
    const run = { ...PLACE, runId }
    const state = { xp: 0n, level: 1, premium: false }
    const open = random.whole(0, 1) === 0 ? [...TIERS] : TIERS.toReversed()
    const claimed: Tier[] = []

    const addXp = async (amount: bigint) => {
      const source = random.pick(SOURCES)
      const answer = await player.addXp({ ...run, amount, ...(source !== undefined && { source }) })
      const from = state.level
      state.xp += amount
      state.level = LEVELS.findLast(({ xp }) => BigInt(xp) <= state.xp)?.level ?? 0
      const isUp = state.level > from
      const isTop = state.level === TOP.level
      const crossed = [at('pass', 'onLevelUp'), ...(isTop ? [at('pass', 'onMaxLevel')] : [])]
      expect(answer).toEqual({
        ok: {
          ...{ level: state.level, xp: String(state.xp), leveledUp: isUp, maxLevel: isTop },
          plan: isUp ? planOf(crossed) : null,
        },
      })
      if (isUp) expectParts((answer as Body).ok.plan)
    }
    const claim = async (tier: Tier) => {
      const { level, track } = tier
      const isRepeat = claimed.includes(tier)
      const error =
        level > state.level ? 'level not reached' : track === 'premium' && !state.premium ? 'premium required' : null
      // The level node of the season is a view of the tier, with the same answer.
      const node = level === TOP.level / 2 && track === 'free' ? { nodeId: 'halfway' } : {}
      expect(await player.claim({ ...run, ...node, level, track })).toEqual({
        ok: {
          ...{ success: error === null, alreadyClaimed: isRepeat, error },
          granted: error === null ? rewardsOf(tier) : [],
        },
      })
      if (error === null && !isRepeat) claimed.push(tier)
    }
    const buy = async () => {
      const answer = await player.premium({
        ...run,
        ...(random.chance(0.5) && { idempotencyKey: `key-${random.whole(0, 2 ** 31)}` }),
      })
      const error = state.premium ? 'premium already owned' : null
      expect(answer).toEqual({
        ok: { success: !error, error, plan: error ? null : planOf([at('pass', 'onPremiumPurchase')]) },
      })
      if (!error) expectParts((answer as Body).ok.plan)
      state.premium = true
    }

    const expectProgress = async () => {
      const { ok } = (await player.progress(PLACE)) as Body
      const { level, xp, premium: premiumOwned } = state
      expect(ok).toEqual({ level, xp: String(xp), premiumOwned, claimedTiers: expect.any(Array) })
      const inOrder = (tiers: readonly object[]) => tiers.map((tier) => JSON.stringify(tier)).sort()
      expect(inOrder(ok.claimedTiers)).toEqual(inOrder(claimed.map(({ level, track }) => ({ level, track }))))
    }

    while (claimed.length < TIERS.length) {
      if (random.chance(0.3)) await addXp(BigInt(random.pick([1, random.whole(1, 500), random.whole(1, 9_000)])))
      if (random.chance(0.02) || (state.level === TOP.level && !state.premium)) await buy()
      const left = open.filter((tier) => !claimed.includes(tier))
      const reached = left.filter(({ level, track }) => level <= state.level && (state.premium || track === 'free'))
      if (reached.length > 0) await claim(random.pick(reached))
      if (random.chance(0.1)) await claim(random.pick(TIERS))
      if (random.chance(0.1)) await expectProgress()
    }
    await addXp(2n ** 62n)
    await buy()
    await expectProgress()

    const mine = () => heard.filter(({ playerId, error }) => error || playerId === playerIdOf(token))
    const times = (handle: string, nodeId: string) =>
      mine().filter((event) => event.handle === handle && event.nodeId === nodeId).length
    await until('the season is complete', () => times('onComplete', 'pass') > 0)
    stop()
    expect(mine().filter(({ error }) => error)).toEqual([])
    expect(mine()[0]).toMatchObject({ type: 'PLAYER_CREATED' })
    const once = [times('onMaxLevel', 'pass'), times('onPremiumPurchase', 'pass'), times('onComplete', 'pass')]
    expect([...once, times('onComplete', 'halfway')]).toEqual([1, 1, 1, 1])
  })
})

async function runOf(token: string): Promise<string> {
  return (await send('POST', '/sdk/v1/scenarios/start', bearer(token), { scenarioId: PLACE.scenarioId })).body.runId
}

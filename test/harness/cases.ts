import { type Json, members, print, RawJson } from '../../src/base/json.ts'
import { type PassView, type ScenarioSession, Tierway, TierwayError, type Track } from '../../src/client/index.ts'
import { gold, item, season, tier } from './definitions.ts'
import type { Game, GraphqlAnswer } from './game.ts'
import { approve, type Operator, startOperator, status } from './operator.ts'
import {
  askSocket,
  CLAIM_ALL,
  graphqlOf,
  type Outcome,
  outcomeOfGraphql,
  outcomeOfRest,
  plain,
  REWARD,
  restOf,
  START,
  type Surface,
} from './surfaces.ts'

// The calls of a game, and their answers: the same over REST, GraphQL and WebSocket, and in the client libraries.

/** A call of one player in its run of `CASES_SCENARIO`, and its answer. */
export interface Case {
  readonly call: string
  readonly input: Readonly<Record<string, unknown>>
  readonly reply: Reply
}

/** The answer of a call, or the code of its refusal with the members that are at fault. Int64 values are texts. */
export type Reply = { readonly ok: unknown } | { readonly code: string; readonly faults?: readonly string[] }

export type Caller = (call: string, input: Readonly<Record<string, unknown>>) => Promise<Reply>

export const CASES_SCENARIO = 'cases'
/** The scenario of a season that has ended. The scenario of the cases follows. */
const ENDED_SCENARIO = 'cases-before'

/** The player whom the operator of the cases rejects. */
export const REJECTED = 'rejected'

const pass = (id: string, levels: readonly Json[], tiers: readonly Json[], more = {}): Json => ({
  id,
  type: 'battle-pass',
  data: { levels, tiers, ...more },
})

// Two passes, a level node, reward nodes, a node of the game, and an edge from every handle.
export const CASES_DEFINITION: Json = {
  name: 'Cases',
  start: 'start',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'welcome', type: 'reward', data: { rewards: [{ currency: 'gems', amount: 700 }] } },
    pass(
      'pass',
      [
        { level: 1, xp: 0 },
        { level: 2, xp: 100 },
        { level: 3, xp: 250 },
      ],
      [
        tier(1, 'free'),
        tier(2, 'free', [gold(20), item('hat')]),
        tier(1, 'premium', [{ choice: [[item('skin')], [gold(1), item('hat')]] }]),
        tier(2, 'premium', [item('skin')]),
        tier(3, 'premium', [item('crown', 2)]),
      ],
      {
        premium: { price: { currency: 'gems', amount: 500 } },
        text: { en: { name: 'Pass' }, de: { name: 'Saison' } },
      },
    ),
    pass(
      'bonus',
      [
        { level: 1, xp: 10 },
        { level: 5, xp: 50 },
      ],
      [tier(1, 'free', [item('token', 3)]), tier(5, 'free', [{ currency: 'gems', amount: 40 }])],
      { beyond: { every: 5, rewards: [gold(6)], max: 2 } },
    ),
    {
      id: 'third',
      type: 'battle-pass-level',
      data: { levelNumber: '3', passNodeId: 'pass', rewards: { free: [gold(99)] } },
    },
    { id: 'gift', type: 'reward', data: { rewards: [gold(5), item('card')] } },
    { id: 'shop', type: 'shop', data: { offers: ['a', 'b'], discount: 0.25 } },
  ],
  edges: [
    ...['welcome', 'pass', 'bonus', 'third', 'shop'].map((to) => ({ from: 'start', handle: 'onStart', to })),
    { from: 'pass', handle: 'onLevelUp', to: 'gift' },
    { from: 'pass', handle: 'onMaxLevel', to: 'shop' },
    { from: 'pass', handle: 'onComplete', to: 'gift' },
    { from: 'pass', handle: 'onPremiumPurchase', to: 'gift' },
    { from: 'bonus', handle: 'onComplete', to: 'shop' },
    { from: 'third', handle: 'onComplete', to: 'shop' },
    { from: 'gift', handle: 'onComplete', to: 'shop' },
    { from: 'shop', handle: 'onBought', to: 'gift' },
    { from: 'shop', handle: 'onComplete', to: 'gift' },
  ],
}

const ok = (value: unknown): Reply => ({ ok: value })
const no = (code: string, ...faults: string[]): Reply => (faults.length > 0 ? { code, faults } : { code })

/** A plan in the form of the cases: crossings, entered nodes and rewards as texts. */
const plan = (crossed: readonly string[], entered: readonly string[] = [], granted: readonly string[] = []) => ({
  runId: 'runId',
  status: 'active',
  crossed,
  entered,
  granted,
})

const BONUS_PROGRESS = {
  ...{ level: 5, xp: '9000000000000060', premiumOwned: false },
  claimedTiers: ['1 free', '2 bonus', '5 free'],
}
const SHOP = 'shop shop {"offers":["a","b"],"discount":0.25}'
/** The reward node is behind several handles, and grants once. */
const GIFT = ['gift reward', SHOP]
const STARTED = plan(
  ['start onStart', 'welcome onComplete'],
  ['start start', 'welcome reward', 'pass battle-pass', 'bonus battle-pass', 'third battle-pass-level', SHOP],
  ['700 gems'],
)
const xp = (level: number, total: number, crossed: object | null = null, maxLevel = false) =>
  ok({ level, xp: String(total), leveledUp: crossed !== null, maxLevel, plan: crossed })
const granted = (...rewards: string[]) => ok({ success: true, alreadyClaimed: false, error: null, granted: rewards })
const notClaimed = (error: string) => ok({ success: false, alreadyClaimed: false, error, granted: [] })
const notBought = (error: string) => ok({ success: false, error, plan: null })
const BOUGHT = ok({ success: true, error: null, plan: plan(['pass onPremiumPurchase', 'gift onComplete'], GIFT) })
const crossed = (handle: string) => ok({ plan: plan([`shop ${handle}`, 'gift onComplete'], GIFT) })
const DONE = ok(null)

const pass1 = { nodeId: 'pass' }
const match = { ...pass1, source: '', idempotencyKey: 'match' }
const bonus = { nodeId: 'bonus' }
const shop = { nodeId: 'shop' }
const NO_MESSAGE = '01900000-0000-7000-8000-000000000000'
const nowhere = { nodeId: 'nowhere' }
const free = { track: 'free' }
const premium = { track: 'premium' }
const LONG_KEY = 'k'.repeat(129)

const STEPS: readonly (readonly [call: string, input: Input, reply: Reply])[] = [
  ['login', { player: REJECTED }, no('CUSTOM_AUTH_REJECTED')],
  ['login', { player: 'accepted' }, DONE],
  ['start', { scenarioId: 'nowhere' }, no('SCENARIO_NOT_FOUND')],
  ['start', {}, ok({ runId: 'runId', resumed: false, plan: STARTED })],
  ['start', {}, ok({ runId: 'runId', resumed: true, plan: STARTED })],
  ['next', { scenarioId: ENDED_SCENARIO }, ok(CASES_SCENARIO)],
  ['next', {}, ok(null)],
  ['progress', nowhere, no('NODE_NOT_FOUND')],
  ['progress', pass1, ok({ level: 1, xp: '0', premiumOwned: false, claimedTiers: [] })],
  ['season', nowhere, no('NODE_NOT_FOUND')],
  ['season', pass1, ok({ phase: 'running', next: null, boosts: ['50 2099 premium unsent+also unsent'] })],
  ['seasons', {}, ok([])],
  ['claim', { ...pass1, ...free, level: 2 }, notClaimed('level not reached')],
  ['premium', bonus, notBought('premium not available')],
  ['addXp', { ...pass1, amount: 0, source: 'x'.repeat(65) }, no('INVALID_REQUEST', 'amount', 'source')],
  ['addXp', { ...nowhere, amount: 1, source: '' }, no('NODE_NOT_FOUND')],
  ['addXp', { nodeId: 'gift', amount: 1, source: '' }, no('NODE_NOT_FOUND')],
  ['addXp', { ...match, amount: 1 }, xp(1, 1)],
  ['addXp', { ...match, amount: 1 }, xp(1, 1)],
  ['addXp', { ...match, amount: 2 }, no('IDEMPOTENCY_KEY_REUSED')],
  [
    'addXp',
    { ...pass1, amount: 119, source: 'quest' },
    xp(2, 120, plan(['pass onLevelUp', 'gift onComplete'], GIFT, ['5 gold', '1 item card'])),
  ],
  ['claim', { ...pass1, ...free, level: 2 }, granted('20 gold', '1 item hat')],
  [
    'claim',
    { ...pass1, ...free, level: 2 },
    ok({ success: true, alreadyClaimed: true, error: null, granted: ['20 gold', '1 item hat'] }),
  ],
  ['claim', { ...pass1, ...premium, level: 2 }, notClaimed('premium required')],
  ['claim', { ...pass1, ...free, level: 9 }, notClaimed('tier not found')],
  ['premium', { ...pass1, idempotencyKey: 'purchase' }, BOUGHT],
  ['premium', { ...pass1, idempotencyKey: 'purchase' }, BOUGHT],
  ['premium', pass1, notBought('premium already owned')],
  [
    'addXp',
    { ...pass1, amount: 200, source: 'quest' },
    xp(3, 320, plan(['pass onLevelUp', 'gift onComplete', 'pass onMaxLevel'], [...GIFT, SHOP]), true),
  ],
  ['claim', { nodeId: 'third', ...free }, granted('99 gold')],
  ['claim', { nodeId: 'third', ...premium }, granted('2 item crown')],
  ['addXp', { ...bonus, amount: 60, source: '' }, xp(5, 60, plan(['bonus onLevelUp', 'bonus onMaxLevel']), true)],
  ['claim', { ...bonus, ...free, level: 1 }, granted('3 item token')],
  ['claim', { ...bonus, ...free, level: 5 }, granted('40 gems')],
  ['claim', { ...bonus, track: 'bonus', level: 2 }, granted('6 gold')],
  ['claim', { ...bonus, track: 'bonus', level: 3 }, notClaimed('tier not found')],
  ['claim', { nodeId: 'third', track: 'bonus' }, no('INVALID_REQUEST', 'track')],
  ['cross', { ...shop, handle: 'onLevelUp' }, no('HANDLE_IS_SERVER_OWNED')],
  ['cross', { ...shop, handle: 'onElse' }, no('INVALID_REQUEST', 'handle')],
  ['cross', { ...shop, handle: 'onBought' }, crossed('onBought')],
  ['cross', { ...shop, handle: 'onComplete' }, crossed('onComplete')],
  ['addXp', { ...bonus, amount: 9_000_000_000_000_000, source: '' }, xp(5, 9_000_000_000_000_060, null, true)],
  ['progress', pass1, ok({ level: 3, xp: '320', premiumOwned: true, claimedTiers: ['2 free', '3 free', '3 premium'] })],
  ['seasons', {}, ok(['bonus running 5/5 9000000000000060 free 3', 'pass running 3/3 320 premium 3'])],
  ['run', {}, ok({ status: 'active', active: ['bonus', 'pass', 'shop'] })],
  [
    'player',
    {},
    ok({
      wallet: ['240 gems', '130 gold'],
      inventory: ['1 item card', '2 item crown', '1 item hat', '3 item token'],
    }),
  ],
  ['setStorage', { values: { color: '"red"', size: '[1,2.50]' } }, DONE],
  ['setStorage', { values: { [LONG_KEY]: '1' } }, no('STORAGE_LIMIT_EXCEEDED', LONG_KEY)],
  ['getStorage', { keys: ['size', 'shape'] }, ok({ size: '[1,2.50]' })],
  ['listStorage', { first: 1 }, ok({ keys: [{ key: 'color', bytes: 5 }], next: 'color' })],
  ['listStorage', { first: 201 }, no('INVALID_REQUEST', 'first')],
  ['deleteStorage', { keys: ['size', 'shape'] }, DONE],
  ['getStorage', { keys: ['size', 'color'] }, ok({ color: '"red"' })],
  ['inbox', {}, ok({ messages: [], unread: 0, unclaimed: 0 })],
  ['claimMessage', { messageId: NO_MESSAGE }, ok({ success: false, error: 'message not found', granted: [] })],
  ['claimMessage', { messageId: 'none' }, no('INVALID_REQUEST', 'messageId')],
  ['claimAllMessages', {}, ok({ claimed: [], remaining: 0 })],
  ['readMessages', { messageIds: [NO_MESSAGE] }, ok({ unread: 0 })],
  ['readMessages', { messageIds: [] }, no('INVALID_REQUEST', 'messageIds')],
  ['claim', { ...pass1, ...premium, level: 1 }, notClaimed('choice required')],
  ['claim', { ...pass1, ...premium, level: 1, choice: 2 }, notClaimed('choice not found')],
  ['view', { scenarioId: 'nowhere' }, no('SCENARIO_NOT_FOUND')],
  ['view', { language: 'en_US' }, no('INVALID_REQUEST', 'language')],
  [
    'view',
    { language: 'de-AT' },
    ok({
      ...{ name: 'Cases', language: 'de' },
      passes: [
        'pass Saison 3/3 320, 1 free: 10 gold, 1 premium: 1 item skin or 1 gold + 1 item hat, 2 premium: 1 item skin',
        'bonus null 2/2 9000000000000060, 1 bonus: 6 gold',
      ],
    }),
  ],
  ['claim', { ...pass1, ...premium, level: 1, choice: 1 }, granted('1 gold', '1 item hat')],
  ['claimAll', nowhere, no('NODE_NOT_FOUND')],
  ['claimAll', pass1, ok({ claimed: ['1 free: 10 gold', '2 premium: 1 item skin'] })],
  ['claimAll', pass1, ok({ claimed: [] })],
  ['progress', bonus, ok(BONUS_PROGRESS)],
  ['claimAll', bonus, ok({ claimed: ['1 bonus: 6 gold'] })],
]

export const CASES: readonly Case[] = STEPS.map(([call, input, reply]) => ({ call, input, reply }))

/** An answer in the form of the cases. A client gives sessions, which do not have all of an answer about a run. */
function inForm(call: string, answer: unknown): unknown {
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
  const value = plain(answer) as any
  if (call === 'login' || call === 'setStorage' || call === 'deleteStorage') return null
  if (call === 'run') return { status: value.status, active: value.active.map(({ nodeId }: Node) => nodeId).sort() }
  if (call === 'player') return { wallet: value.wallet.map(rewardText), inventory: value.inventory.map(rewardText) }
  if (call === 'progress') return { ...value, claimedTiers: value.claimedTiers.map(tierText) }
  if (call === 'season') return { phase: value.phase, next: value.nextPhase, boosts: value.boosts.map(boostText) }
  if (call === 'next') return value
  if (call === 'seasons') return value.map(seasonText)
  if (call === 'inbox') return { messages: value.messages, unread: value.unread, unclaimed: value.unclaimed }
  if (call === 'claimMessage') return { success: value.success, error: value.error, granted: value.granted }
  if (call === 'claimAllMessages') return { claimed: value.claimed, remaining: value.remaining }
  if (call === 'view')
    return { name: value.name, language: value.language, passes: value.passes.map((pass: PassView) => passText(pass)) }
  if (call === 'claim') return { ...value, granted: value.granted.map(rewardText) }
  if (call === 'claimAll')
    return { claimed: value.claimed.map((one: Tier) => `${tierText(one)}: ${one.granted.map(rewardText)}`) }
  if (!value.plan) return value
  const { runId, status, crossed, entered, granted } = value.plan
  return {
    ...value,
    plan: {
      ...{ runId, status },
      crossed: crossed.map(({ nodeId, handle }: { nodeId: string; handle: string }) => `${nodeId} ${handle}`),
      // Passes have long data.
      entered: entered.map(({ nodeId, type, data }: Node) =>
        [nodeId, type, ...(type === 'shop' ? [print(data)] : [])].join(' '),
      ),
      granted: granted.map(rewardText),
    },
  }
}
interface Node {
  readonly nodeId: string
  readonly type: string
  readonly data: Json
}
interface Tier {
  readonly level: number
  readonly track: string
  readonly granted: readonly Amount[]
}
/** What a player can claim on a pass, and for what. */
function passText({ nodeId, name, levels, tiers, bonus, state }: PassView): string {
  const claimable = state.claimable.map(({ level, track }) => {
    const found =
      track.toLowerCase() === 'bonus' ? bonus : tiers.find((one) => one.level === level && one.track === track)
    const options = [found?.rewards ?? [], ...(found?.choice.map(({ rewards }) => rewards) ?? [])]
    const texts = options.filter((rewards) => rewards.length > 0)
    return `${level} ${track.toLowerCase()}: ${texts.map((rewards) => rewards.map(rewardText as never).join(' + ')).join(' or ')}`
  })
  const reached = levels.filter(({ level }) => level <= state.level).length
  return [`${nodeId} ${name} ${reached}/${levels.length} ${state.xp}`, ...claimable].join(', ')
}
type Amount = Readonly<Partial<Record<'amount' | 'balance' | 'currency' | 'itemId', string | null>>>
const tierText = ({ level, track }: Tier) => `${level} ${track}`
const seasonText = ({ nodeId, phase, level, topLevel, xp, premiumOwned, claimed }: Readonly<Record<string, unknown>>) =>
  `${nodeId} ${phase} ${level}/${topLevel} ${xp} ${premiumOwned ? 'premium' : 'free'} ${claimed}`
const boostText = ({ percent, endsAt, audience, sources }: Boost) =>
  `${percent} ${endsAt.slice(0, 4)} ${audience.toLowerCase()} ${sources.join('+')}`
interface Boost {
  readonly percent: number
  readonly endsAt: string
  readonly audience: string
  readonly sources: readonly string[]
}
const rewardText = ({ amount, balance, currency, itemId }: Amount) =>
  `${amount ?? balance} ${itemId ? `item ${itemId}` : currency}`

/** Publishes the scenarios of the cases, with a boost of a source that no case sends. */
export async function publishCases(game: Game): Promise<void> {
  const ended = {
    startsAt: '2020-01-01T00:00:00Z',
    endsAt: '2020-02-01T00:00:00Z',
    next: { scenarioId: CASES_SCENARIO },
  }
  for (const [id, definition] of [
    [CASES_SCENARIO, CASES_DEFINITION],
    [ENDED_SCENARIO, season({ more: ended })],
  ] as const) {
    const { status: published, text } = await game.publish(id, definition)
    if (published !== 200) throw new Error(`the cases are not published: ${text}`)
  }
  const { errors } = await game.graphql(
    game.platformKey,
    `mutation { createBoost(input: { environment: "production", name: "x", reason: "x", percent: 50,
      startsAt: "2020-01-01T00:00:00Z", endsAt: "2099-01-01T00:00:00Z", scenarios: ["${CASES_SCENARIO}"],
      sources: ["unsent", "also unsent"], audience: PREMIUM }) { boost { id } } }`,
  )
  if (errors) throw new Error(`the boost of the cases is not made: ${JSON.stringify(errors)}`)
}

/** Publishes the scenarios of the cases, and starts the operator of their logins. */
export async function startCasesOperator(game: Game): Promise<Operator> {
  const operator = await startOperator((hit, response) => {
    const { player } = JSON.parse(hit.customData)
    return (player === REJECTED ? status(403) : approve({ subject: player }))(hit, response)
  })
  await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
  await publishCases(game)
  return operator
}

const nextOf = ({ next }: { readonly next?: { readonly scenarioId: string } | null }): string | null =>
  next?.scenarioId ?? null

type Input = Readonly<Record<string, unknown>>
type Calls = Readonly<Record<string, (input: Input) => Promise<Outcome>>>

function callerOf(calls: Calls): Caller {
  return async (call, input) => {
    const outcome = await calls[call]?.(input)
    if (!outcome) throw new Error(`no call ${call}`)
    return 'ok' in outcome ? ok(inForm(call, outcome.ok)) : refusalOf(outcome.code, outcome.details)
  }
}

const refusalOf = (code: string, details: unknown = []): Reply =>
  no(code, ...(details as { path: string }[]).map(({ path }) => path.split('.').at(-1) ?? '').sort())

/** The calls of `restOf` and `graphqlOf`, in the run that `start` has begun. */
function inRun(surface: Surface, runIdOf: () => Promise<string>): Calls {
  let runId = ''
  const there = (input: Input) => ({ scenarioId: CASES_SCENARIO, runId, ...input })
  return {
    async start(input) {
      const outcome = await surface.start({ scenarioId: CASES_SCENARIO, ...input })
      if ('ok' in outcome) runId = await runIdOf()
      return outcome
    },
    run: () => surface.run({ runId }),
    progress: (input) => surface.progress({ scenarioId: CASES_SCENARIO, nodeId: input.nodeId }),
    season: (input) => surface.season({ scenarioId: CASES_SCENARIO, nodeId: input.nodeId }),
    seasons: () => surface.seasons(),
    view: (input) => surface.view({ scenarioId: CASES_SCENARIO, ...input }),
    addXp: (input) => surface.addXp(there(input)),
    claim: (input) => surface.claim(there(input)),
    premium: (input) => surface.premium(there(input)),
    cross: (input) => surface.cross(there(input)),
  }
}

export function overRest(game: Game): Caller {
  let token = ''
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    game.request('POST', path, { body: print(body as Json), headers: { authorization: `Bearer ${token}`, ...headers } })
  const at = (path: string) => async (input: Input) => {
    const answer = await post(path, input)
    return answer.status === 204 ? { ok: null } : outcomeOfRest(answer)
  }
  return callerOf({
    ...inRun(restOf({ post }), async () => (await post(START_PATH, { scenarioId: CASES_SCENARIO })).body.runId),
    async login({ player }) {
      const answer = await game.login({ player } as Json)
      token = answer.body.accessToken ?? token
      return outcomeOfRest(answer)
    },
    next: async ({ scenarioId = CASES_SCENARIO }) => ({ ok: nextOf((await post(START_PATH, { scenarioId })).body) }),
    inbox: at('/sdk/v1/inbox/list'),
    claimMessage: at('/sdk/v1/inbox/claim'),
    claimAllMessages: at('/sdk/v1/inbox/claim-all'),
    readMessages: at('/sdk/v1/inbox/read'),
    player: at('/sdk/v1/player/get'),
    async getStorage(input) {
      const { text } = await post('/sdk/v1/storage/get', input)
      return { ok: Object.fromEntries(members(members(text).get('values') ?? '')) }
    },
    listStorage: at('/sdk/v1/storage/list'),
    setStorage: ({ values }) => at('/sdk/v1/storage/set')({ values: rawOf(values) }),
    deleteStorage: at('/sdk/v1/storage/delete'),
  })
}
const START_PATH = '/sdk/v1/scenarios/start'
const rawOf = (values: unknown) =>
  Object.fromEntries(Object.entries(values as Record<string, string>).map(([key, text]) => [key, new RawJson(text)]))

const START_NEXT = 'mutation ($input: StartRunInput!) { startRun(input: $input) { next { scenarioId runId resumed } } }'

type Ask = (query: string, variables: Record<string, unknown>) => Promise<GraphqlAnswer>

/** `ask` makes the calls of a player, or with null those of a game before the login. */
export function overGraphql(ask: (token: string | null) => Ask): Caller {
  let token: string | null = null
  const graphql: Ask = (query, variables) => ask(token)(query, variables)
  const me = async (fields: string, read: (me: GraphqlAnswer['data']) => unknown): Promise<Outcome> => {
    const answer = await graphql(`{ me { ${fields} } }`, {})
    return answer.errors ? outcomeOfGraphql(answer) : { ok: read(answer.data.me) }
  }
  const change = (query: string) => async (input: Input) => outcomeOfGraphql(await graphql(query, { input }))
  const runId = async () => (await graphql(START, { input: { scenarioId: CASES_SCENARIO } })).data.startRun.runId
  return callerOf({
    ...inRun(graphqlOf({ graphql: (query, variables = {}) => graphql(query, variables) }), runId),
    claimAll: async (input) => change(CLAIM_ALL)({ scenarioId: CASES_SCENARIO, runId: await runId(), ...input }),
    async login({ player }) {
      token = null
      const query = 'mutation ($input: LoginCustomInput!) { loginCustom(input: $input) { accessToken } }'
      const answer = await graphql(query, { input: { customData: { player } } })
      token = answer.data?.loginCustom?.accessToken ?? null
      return outcomeOfGraphql(answer)
    },
    next: async ({ scenarioId = CASES_SCENARIO }) => ({
      ok: nextOf((await graphql(START_NEXT, { input: { scenarioId } })).data.startRun),
    }),
    inbox: async () => outcomeOfGraphql(await graphql('{ inbox { messages { title } unread unclaimed } }', {})),
    claimMessage: change(
      `mutation ($input: ClaimMessageInput!) { claimMessage(input: $input) { success error granted ${REWARD} } }`,
    ),
    claimAllMessages: change(
      'mutation ($input: ClaimAllMessagesInput!) { claimAllMessages(input: $input) { claimed { messageId } remaining } }',
    ),
    readMessages: change('mutation ($input: MarkMessagesReadInput!) { markMessagesRead(input: $input) { unread } }'),
    player: () => me('wallet { currency balance } inventory { itemId amount }', (player) => player),
    getStorage: ({ keys }) =>
      me(`storage${keys ? `(keys: ${JSON.stringify(keys)})` : ''} { key value }`, ({ storage }) =>
        Object.fromEntries(storage.map(({ key, value }: Record<string, string>) => [key, value])),
      ),
    listStorage: ({ first }) =>
      me(`storageKeys(first: ${first}) { nodes { key bytes } pageInfo { hasNextPage } }`, ({ storageKeys }) => ({
        keys: storageKeys.nodes,
        next: storageKeys.pageInfo.hasNextPage ? storageKeys.nodes.at(-1).key : null,
      })),
    setStorage: ({ values }) =>
      change('mutation ($input: SetStorageInput!) { setStorage(input: $input) { storage { key } } }')({
        values: `{${Object.entries(values as Record<string, string>)
          .map(([key, text]) => `${JSON.stringify(key)}:${text}`)
          .join()}}`,
      }),
    deleteStorage: change('mutation ($input: DeleteStorageInput!) { deleteStorage(input: $input) { keys } }'),
  })
}

export const overHttp =
  ({ graphql, sdkKey }: Game) =>
  (token: string | null): Ask =>
  (query, variables) =>
    graphql(token ?? { 'x-sdk-key': sdkKey }, query, variables)

export const overSocket =
  (game: Game) =>
  (token: string | null): Ask =>
  (query, variables) =>
    askSocket(game, token === null ? { sdkKey: game.sdkKey } : { authorization: `Bearer ${token}` }, query, variables)

/** The client library for JavaScript. */
export function overClient({ baseUrl, sdkKey }: Game): Caller {
  const tierway = new Tierway({ baseUrl, sdkKey })
  let session: ScenarioSession
  const pass = ({ nodeId }: Input) => session.battlePass(nodeId as string)
  const calls: Readonly<Record<string, (input: Input) => Promise<unknown>>> = {
    login: ({ player }) => tierway.login({ customData: { player } }),
    async start({ scenarioId = CASES_SCENARIO }) {
      session = await tierway.scenario(scenarioId as string).start()
      return { runId: session.runId, resumed: session.isResumed, plan: session.plan }
    },
    next: async ({ scenarioId = CASES_SCENARIO }) => nextOf(await tierway.scenario(scenarioId as string).start()),
    async run() {
      await session.refresh()
      return { status: session.status, active: session.active }
    },
    progress: (input) => pass(input).progress(),
    season: (input) => pass(input).season(),
    seasons: () => tierway.seasons(),
    view: ({ scenarioId = CASES_SCENARIO, language }) =>
      tierway.view(scenarioId as string, { language } as { language: string }),
    addXp: ({ amount, source, idempotencyKey, ...input }) =>
      pass(input).addXp(amount as number, { source, idempotencyKey } as { source: string }),
    claim: ({ level, track, choice, ...input }) =>
      level === undefined
        ? session.level(input.nodeId as string).claim(track as Track)
        : pass(input).claim(level as number, track as Track, { choice } as { choice: number }),
    claimAll: (input) => pass(input).claimAll(),
    premium: ({ idempotencyKey, ...input }) => pass(input).buyPremium({ idempotencyKey: idempotencyKey as string }),
    cross: async ({ nodeId, handle }) => ({ plan: await session.cross(nodeId as string, handle as string) }),
    inbox: () => tierway.inbox(),
    claimMessage: ({ messageId }) => tierway.claimMessage(messageId as string),
    claimAllMessages: () => tierway.claimAllMessages(),
    readMessages: async ({ messageIds }) => ({ unread: await tierway.readMessages(messageIds as string[]) }),
    player: () => tierway.player(),
    getStorage: ({ keys }) => tierway.storage.getRaw(keys as string[]),
    listStorage: ({ first }) => tierway.storage.list({ first: first as number }),
    setStorage: ({ values }) => tierway.storage.setRaw(values as Record<string, string>),
    deleteStorage: ({ keys }) => tierway.storage.delete(keys as string[]),
  }
  return async (call, input) => {
    try {
      return ok(inForm(call, await calls[call]?.(input)))
    } catch (error) {
      if (!TierwayError.is(error)) throw error
      return refusalOf(error.code.toUpperCase(), error.details)
    }
  }
}

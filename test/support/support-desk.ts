import { expect } from 'vitest'
import { createProject } from '../../src/callers/projects.ts'
import { adjustWallet } from '../../src/dev/adjust-wallet.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { auditBooks, auditSupport } from '../harness/audit.ts'
import { gold, passNode, scenario, season } from '../harness/definitions.ts'
import { type Game, generateKeys, type Instance, startGame, startInstance } from '../harness/game.ts'
import { startOperator, type Operator as Webhook } from '../harness/operator.ts'
import {
  auditRows,
  everythingOf,
  type Input,
  type LoggedIn,
  logIn,
  type Mutation,
  newOperator,
  type Operator,
  obey,
  support,
} from './desk.ts'

// A game of two instances with operators, and players in the middle of a season. Each file starts it once, by
// `beforeAll(openDesk)`.

export const MAX_INT64 = 2n ** 63n - 1n
export const NOBODY = '01900000-0000-7000-8000-000000000000'
export const XP = '/sdk/v1/battlepass/xp'
export const CLAIM = '/sdk/v1/battlepass/claim'
export const PREMIUM = '/sdk/v1/battlepass/premium'
export const PROGRESS = '/sdk/v1/battlepass/progress'

export const pass = { scenarioId: 'season', nodeId: 'pass' }
export const bonus = { scenarioId: 'season', nodeId: 'bonus' }
export const boss = { scenarioId: 'season', nodeId: 'boss', handle: 'onWin' }

// Two passes of five levels, a level node on the first, and gold for each level up of the first and for the boss, whom
// only servers can say to be beaten.
const definition = scenario(
  [
    passNode('pass'),
    passNode('bonus'),
    { id: 'third', type: 'battle-pass-level', data: { levelNumber: 3, passNodeId: 'pass' } },
    { id: 'boss', type: 'fight', handles: { onWin: { from: 'server' } } },
    { id: 'gift', type: 'reward', data: { rewards: [gold(5)] } },
  ],
  [
    { from: 'start', handle: 'onStart', to: 'pass' },
    { from: 'start', handle: 'onStart', to: 'bonus' },
    { from: 'start', handle: 'onStart', to: 'boss' },
    { from: 'pass', handle: 'onLevelUp', to: 'gift' },
    { from: 'boss', handle: 'onWin', to: 'gift' },
  ],
)

export let game: Game
export let webhook: Webhook
export let operator: Operator
export let admin: Operator
export let viewer: Operator
/** An operator of another project, and a player there. */
export let stranger: Operator
export let strangePlayerId: string
/** A second instance on the same database. */
export let other: Instance

export async function openDesk(): Promise<void> {
  const shared = await generateKeys()
  game = await startGame(shared)
  webhook = await startOperator(obey)
  other = await startInstance(game.databaseUrl, shared)
  const { pool } = game.app
  const project = await createProject(pool, { name: 'Other', environments: ['production'] })
  ;[operator, admin, viewer, stranger] = await Promise.all([
    newOperator(pool, game.projectId),
    newOperator(pool, game.projectId, 'admin'),
    newOperator(pool, game.projectId, 'viewer'),
    newOperator(pool, project.projectId),
  ])
  strangePlayerId = (await game.app.service.run(createPlayer(project.environments.get('production') ?? '', 'Eve')))
    .playerId
  const { url, secret } = webhook
  expect((await game.setProviders({ default: { enabled: true, url, secret } })).status).toBe(200)
  const over = season({ more: { endsAt: '2020-01-01T00:00:00Z', claimUntil: '2020-02-01T00:00:00Z' } })
  for (const published of [await game.publish('season', definition), await game.publish('over', over)])
    expect(published.status, published.text).toBe(200)
}

export async function closeDesk(): Promise<void> {
  await auditBooks(game.app.pool)
  await auditSupport(game.app.pool)
  await other.stop()
  await webhook.close()
  await game.stop()
}

let count = 0
/** A name that is not in use yet. */
export const fresh = (what: string): string => {
  count += 1
  return `${what} ${count}`
}

const SEASONING = `mutation ($xp: AddXpInput!, $pass: PurchasePremiumInput!, $one: ClaimTierInput!, $two: ClaimTierInput!) {
  addXp(input: $xp) { level } purchasePremium(input: $pass) { error }
  one: claimTier(input: $one) { error } two: claimTier(input: $two) { error } }`

export interface Seasoned extends LoggedIn {
  readonly runId: string
}

/**
 * A player in the middle of a season: 250 xp, premium bought, the free tiers 1 and 2 claimed. The player has 50 gems
 * and 35 gold: 30 from tiers, and 5 from a level up.
 */
export async function seasoned(): Promise<Seasoned> {
  const player = await logIn(
    game,
    fresh('subject'),
    { nickname: 'Ada', avatarUrl: 'https://cdn.example/ada.png', data: { color: 'red' } },
    { region: 'eu-west', language: 'pt-BR' },
  )
  await game.app.service.run(adjustWallet(player, { currency: 'gems', amount: 1000n, reference: 'test' }))
  const runId = await player.start('season')
  const { data, errors } = await player.graphql(SEASONING, {
    ...{ xp: { ...pass, runId, amount: '250', source: 'match' }, pass: { ...pass, runId } },
    ...{ one: { ...pass, runId, level: 1, track: 'FREE' }, two: { ...pass, runId, level: 2, track: 'FREE' } },
  })
  expect([errors, data]).toMatchObject([
    undefined,
    { addXp: { level: 3 }, purchasePremium: { error: null }, one: { error: null }, two: { error: null } },
  ])
  return { ...player, runId }
}

/** One action of an operator, with a reason. */
export const act = (
  mutation: Mutation,
  { playerId }: { playerId: string },
  input: Input = {},
  by: Operator = operator,
) => support(game, by.key, mutation, { playerId, reason: 'ticket 4711', ...input })

export const key = () => fresh('key')

export const everything = ({ playerId }: { playerId: string }) => everythingOf(game.app.pool, playerId)
export const rowsOf = ({ playerId }: { playerId: string }) => auditRows(game.app.pool, game.projectId, playerId)

export async function balances({ playerId }: { playerId: string }): Promise<Record<string, string>> {
  const { rows } = await game.app.pool.query('SELECT currency, balance FROM wallets WHERE player_id = $1', [playerId])
  return Object.fromEntries(rows.map(({ currency, balance }) => [currency, balance]))
}

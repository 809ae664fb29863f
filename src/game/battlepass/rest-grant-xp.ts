import { hash } from 'node:crypto'
import { Refusal } from '../../base/errors.ts'
import { MAX_BATCH_PLAYERS, MAX_REFERENCE, MAX_SOURCE } from '../../base/limits.ts'
import { answer, out } from '../../declare/answer.ts'
import { EXAMPLE_PASS, EXAMPLE_RUN, inScenario, requiredKey, runId } from '../../declare/common.ts'
import { type ServerRequest, serverCall } from '../../declare/route.ts'
import { flag, int64, listOf, optional, type RequestOf, shape, text } from '../../declare/shape.ts'
import { details, runForEach, textsOf } from '../../players/batch.ts'
import { findTargets, playerTarget } from '../../players/player-target.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { type AddXpResult, addServerXp, addXpAnswer } from './add-xp.ts'
import { startRun } from './start-run.ts'

const grantShape = shape({
  player: playerTarget,
  ...inScenario,
  runId: optional(runId),
  start: optional(
    flag(
      'Whether a run is started for a player without an active one. Default: true. A call with `runId` starts none.',
    ),
    true,
  ),
  amount: int64('The amount of xp: 1 or more.', { min: 1n }),
  source: text(`The source of the xp: 1 to ${MAX_SOURCE} characters.`, { max: MAX_SOURCE }),
  reference: optional(
    text('Your own reference, such as the id of a match. The xp ledger keeps it.', { max: MAX_REFERENCE }),
  ),
})
type Grant = RequestOf<typeof grantShape>

const grantXpRequest = shape(
  {
    grants: listOf(
      `The grants: 1 to ${MAX_BATCH_PLAYERS}. Those of one player are made in their order. Repeated with the key, in any order or in part, each is made once.`,
      grantShape,
      { max: MAX_BATCH_PLAYERS },
    ),
    idempotencyKey: requiredKey,
  },
  {
    name: 'GrantXpRequest',
    example: {
      grants: [
        {
          player: { provider: 'custom', subject: 'player-1' },
          ...EXAMPLE_PASS,
          amount: 1200,
          source: 'match',
          reference: 'match-17',
        },
      ],
      idempotencyKey: 'match-17',
    },
  },
)

const GRANT_ERRORS = [
  'playerNotFound',
  'playerBanned',
  'playerDeleted',
  'scenarioNotFound',
  'nodeNotFound',
  'runNotFound',
  'runNotActive',
  'xpNotAllowed',
  'seasonClosed',
  'xpLimitReached',
  'xpLimitExceeded',
  'balanceLimitExceeded',
  'idempotencyKeyReused',
] as const

const { level, xp, leveledUp, maxLevel, plan } = addXpAnswer.members
const grantResult = answer(
  'The state after a grant; null with an `error`, which changed nothing.',
  {
    playerId: out.orNull(out.text('The player. Null for one that the environment does not have.')),
    level: out.orNull(level),
    xp: out.orNull(xp),
    leveledUp: out.orNull(leveledUp),
    maxLevel: out.orNull(maxLevel),
    plan,
    error: out.orNull(out.oneOf(textsOf(GRANT_ERRORS))),
    details,
  },
  { name: 'XpGrantResult' },
)

const grantXpAnswer = answer(
  'The results of the grants. A call that is repeated with its idempotency key answers the same, and makes the grants that are missing.',
  { results: out.list(grantResult, 'One result for each grant, in the order of the request.') },
  {
    name: 'GrantXpResponse',
    example: {
      results: [
        {
          playerId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e21',
          level: 2,
          xp: 1200,
          leveledUp: true,
          maxLevel: false,
          plan: {
            runId: EXAMPLE_RUN.runId,
            status: 'active',
            crossed: [{ nodeId: 'pass', handle: 'onLevelUp' }],
            entered: [],
            granted: [],
          },
          error: null,
        },
      ],
    },
  },
)

const NOTHING = { level: null, xp: null, leveledUp: null, maxLevel: null, plan: null }

type Giver = Pick<ServerRequest<unknown>, 'service' | 'caller'>

/** Makes one grant. A player without a run gets one first, in a transaction of its own, which may be repeated. */
async function give(
  { service, caller }: Giver,
  player: PlayerRef,
  grant: Grant,
  idempotencyKey: string,
): Promise<AddXpResult> {
  const { player: _player, start, reference, ...input } = grant
  const command = addServerXp(player, { ...input, idempotencyKey }, { reference })
  return service.runAs(caller, command).catch(async (error) => {
    const hasNoRun = error instanceof Refusal && error.kind === 'runNotFound' && grant.runId === null
    if (!hasNoRun || !start) throw error
    await service.runAs(caller, startRun(player, grant))
    return service.runAs(caller, command)
  })
}

/**
 * The keys by which the grants of a call are remembered for their players. A grant is known by the key of the call, its
 * pass, source and reference, and its number among those that are equal in these, which are numbered by their amounts:
 * neither the order of a call nor what is missing in it matters.
 */
function keysOf(key: string, grants: readonly Grant[], players: readonly (PlayerRef | null)[]): readonly string[] {
  const numbers = new Map<string, number>()
  const keys: string[] = []
  const places = [...grants.keys()].sort((a, b) => byAmount(grants[a] as Grant, grants[b] as Grant))
  for (const place of places) {
    const { scenarioId, nodeId, source, reference } = grants[place] as Grant
    const name = JSON.stringify([key, scenarioId, nodeId, source, reference])
    const mine = `${players[place]?.playerId}${name}`
    const number = numbers.get(mine) ?? 0
    numbers.set(mine, number + 1)
    keys[place] = hash('sha256', `${number}${name}`, 'base64url')
  }
  return keys
}

const byAmount = (a: Grant, b: Grant): number => (a.amount === b.amount ? 0 : a.amount < b.amount ? -1 : 1)

export const grantXpCall = serverCall({
  request: grantXpRequest,
  contract: {
    id: 'grantXp',
    tag: 'Game servers',
    summary: 'Give xp to the players of a match.',
    answer: grantXpAnswer,
    refusals: [],
  },
  async run({ caller, input: { grants, idempotencyKey }, service }) {
    const targets = grants.map(({ player }) => player)
    const players = await findTargets(service.pool, caller.environmentId, targets)
    const keys = keysOf(idempotencyKey, grants, players)
    return {
      results: await runForEach(players, {
        errors: GRANT_ERRORS,
        nothing: NOTHING,
        // Each grant is atomic, and remembered for its player.
        run: (player, place) => give({ service, caller }, player, grants[place] as Grant, keys[place] as string),
      }),
    }
  },
})

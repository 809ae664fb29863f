import { REFUSALS, Refusal, type RefusalKind } from '../base/errors.ts'
import { MAX_BATCH_PLAYERS, MAX_REFERENCE, MAX_SOURCE } from '../base/limits.ts'
import type { ServerCaller } from '../callers/callers.ts'
import { type AnswerOf, answer, memberOf, out } from '../declare/answer.ts'
import { EXAMPLE_PASS, EXAMPLE_RUN, inScenario, requiredKey, runId } from '../declare/common.ts'
import { type ServerRequest, serverCall } from '../declare/route.ts'
import { flag, int64, listOf, optional, type RequestOf, shape, text } from '../declare/shape.ts'
import { findTargets, playerTarget } from '../players/player-target.ts'
import { startRun } from '../scenario/start-run.ts'
import type { PlayerRef } from '../transactions/player.ts'
import { addServerXp, addXpAnswer } from './add-xp.ts'

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
    grants: listOf(`The grants: 1 to ${MAX_BATCH_PLAYERS}. Those of one player are made in their order.`, grantShape, {
      max: MAX_BATCH_PLAYERS,
    }),
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

/** Refusals of one grant. Any other one is a refusal of the whole call, which can be repeated. */
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
] as const satisfies readonly RefusalKind[]
const errorTexts = GRANT_ERRORS.map((kind) => REFUSALS[kind][1])

const { level, xp, leveledUp, maxLevel, plan } = addXpAnswer.members
const grantResult = answer(
  'The state after a grant; null with an `error`, which changed nothing.',
  {
    playerId: out.orNull(out.text('The player. Null for one that the environment does not have.')),
    level: out.orNull(memberOf(level)),
    xp: out.orNull(memberOf(xp)),
    leveledUp: out.orNull(memberOf(leveledUp)),
    maxLevel: out.orNull(memberOf(maxLevel)),
    plan,
    error: out.orNull(out.oneOf(errorTexts as [(typeof errorTexts)[number], ...typeof errorTexts])),
  },
  { name: 'XpGrantResult' },
)
type GrantResult = AnswerOf<typeof grantResult>

const grantXpAnswer = answer(
  'The results of the grants. A call that is repeated with its idempotency key answers the same, and makes the grants that are missing.',
  { results: out.list(grantResult, 'One result for each grant, in the order of the request.') },
  {
    name: 'GrantXpResponse',
    example: {
      results: [
        {
          ...{ playerId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e21', level: 2, xp: 1200, leveledUp: true, maxLevel: false },
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

function refused(playerId: string | null, error: unknown): GrantResult {
  const kind = error instanceof Refusal ? GRANT_ERRORS.find((known) => known === error.kind) : undefined
  if (kind === undefined) throw error
  return { playerId, ...NOTHING, error: REFUSALS[kind][1] }
}

type Service = ServerRequest<unknown>['service']

/** Makes one grant. A player without a run gets one first, in a transaction of its own, which may be repeated. */
async function give(service: Service, player: PlayerRef, grant: Grant, key: string): Promise<GrantResult> {
  const { player: _player, start, reference, ...input } = grant
  const command = addServerXp(player, { ...input, idempotencyKey: key }, reference)
  const result = await service.run(command).catch(async (error) => {
    const hasNoRun = error instanceof Refusal && error.kind === 'runNotFound' && grant.runId === null
    if (!hasNoRun || !start) throw error
    await service.run(startRun(player, grant))
    return service.run(command)
  })
  return { playerId: player.playerId, ...result, error: null }
}

/** Makes the grants of a game server. Each one is atomic, and remembered by the key of the call and its place. */
async function giveAll(
  service: Service,
  { environmentId }: ServerCaller,
  { grants, idempotencyKey }: RequestOf<typeof grantXpRequest>,
): Promise<{ readonly results: readonly GrantResult[] }> {
  const players = await findTargets(
    service.pool,
    environmentId,
    grants.map(({ player }) => player),
  )
  // Commands that wait together are decided in one group.
  const settled = await Promise.allSettled(
    grants.map(async (grant, place) => {
      const player = players[place]
      if (!player) return refused(null, new Refusal('playerNotFound'))
      return give(service, player, grant, `${place}/${idempotencyKey}`).catch((error) =>
        refused(player.playerId, error),
      )
    }),
  )
  // The others have ended by now, so that a repeat does not meet them.
  return {
    results: settled.map((one) => {
      if (one.status === 'rejected') throw one.reason
      return one.value
    }),
  }
}

export const grantXpCall = serverCall({
  request: grantXpRequest,
  contract: {
    id: 'grantXp',
    tag: 'Game servers',
    summary: 'Give xp to the players of a match.',
    answer: grantXpAnswer,
    refusals: [],
  },
  run: ({ caller, input, service }) => giveAll(service, caller, input),
})

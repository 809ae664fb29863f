import { MAX_BATCH_PLAYERS } from '../../base/limits.ts'
import { answer, out } from '../../declare/answer.ts'
import { EXAMPLE_PASS, inScenario } from '../../declare/common.ts'
import { serverCall } from '../../declare/route.ts'
import { listOf, shape } from '../../declare/shape.ts'
import { runForEach, textsOf } from '../../players/batch.ts'
import { checkTarget, findTargets, targetShape } from '../../players/player-target.ts'
import { progressAnswer, readProgress } from './read-progress.ts'

const progressOfPlayersRequest = shape(
  {
    players: listOf(
      `The players: 1 to ${MAX_BATCH_PLAYERS}, each by \`playerId\`, or by \`provider\` and \`subject\`.`,
      targetShape,
      { max: MAX_BATCH_PLAYERS, check: checkTarget },
    ),
    ...inScenario,
  },
  {
    name: 'PlayersProgressRequest',
    example: { players: [{ provider: 'custom', subject: 'player-1' }], ...EXAMPLE_PASS },
  },
)

const PLAYER_ERRORS = ['playerNotFound', 'playerBanned', 'playerDeleted'] as const

const { level, xp, premiumOwned, claimedTiers } = progressAnswer.members
const playerProgress = answer(
  "A player's progress; null with an `error`.",
  {
    playerId: out.orNull(out.text('The player. Null for one that the environment does not have.')),
    level: out.orNull(level),
    xp: out.orNull(xp),
    premiumOwned: out.orNull(premiumOwned),
    claimedTiers: out.orNull(claimedTiers),
    error: out.orNull(out.oneOf(textsOf(PLAYER_ERRORS))),
  },
  { name: 'PlayerProgress' },
)

const progressOfPlayersAnswer = answer(
  'Progress of several players.',
  { results: out.list(playerProgress, 'One result for each player of the request, in its order.') },
  {
    name: 'PlayersProgressResponse',
    example: {
      results: [
        {
          playerId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e21',
          level: 2,
          xp: 1200,
          premiumOwned: false,
          claimedTiers: [{ level: 2, track: 'free' }],
          error: null,
        },
      ],
    },
  },
)

const NOTHING = { level: null, xp: null, premiumOwned: null, claimedTiers: null }

export const progressOfPlayersCall = serverCall({
  request: progressOfPlayersRequest,
  contract: {
    id: 'readProgressOfPlayers',
    tag: 'Game servers',
    summary: 'Read the progress of several players on a pass.',
    answer: progressOfPlayersAnswer,
    refusals: ['scenarioNotFound', 'nodeNotFound'],
  },
  run: async ({ caller, input: { players: targets, ...pass }, service }) => ({
    results: await runForEach(await findTargets(service.pool, caller.environmentId, targets), {
      errors: PLAYER_ERRORS,
      nothing: NOTHING,
      run: (player) => service.run(readProgress(player, pass)),
    }),
  }),
})

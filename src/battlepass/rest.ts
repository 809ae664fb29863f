import { Refusal } from '../base/errors.ts'
import { MAX_BATCH_PLAYERS } from '../base/limits.ts'
import { type AnswerOf, answer, memberOf, out } from '../declare/answer.ts'
import { EXAMPLE_PASS, inScenario } from '../declare/common.ts'
import { serverCall } from '../declare/route.ts'
import { listOf, shape } from '../declare/shape.ts'
import { checkTarget, findTargets, targetShape } from '../players/player-target.ts'
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

const { level, xp, premiumOwned, claimedTiers } = progressAnswer.members
const playerProgress = answer(
  "A player's progress; null with an `error`.",
  {
    playerId: out.orNull(out.text('The player. Null for one that the environment does not have.')),
    level: out.orNull(memberOf(level)),
    xp: out.orNull(memberOf(xp)),
    premiumOwned: out.orNull(memberOf(premiumOwned)),
    claimedTiers: out.orNull(memberOf(claimedTiers)),
    error: out.orNull(out.oneOf(['player not found', 'player banned', 'player deleted'])),
  },
  { name: 'PlayerProgress' },
)
type PlayerProgress = AnswerOf<typeof playerProgress>

const progressOfPlayersAnswer = answer(
  'Progress of several players.',
  { results: out.list(playerProgress, 'One result for each player of the request, in its order.') },
  {
    name: 'PlayersProgressResponse',
    example: {
      results: [
        {
          ...{ playerId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e21', level: 2, xp: 1200, premiumOwned: false },
          ...{ claimedTiers: [{ level: 2, track: 'free' }], error: null },
        },
      ],
    },
  },
)

const NOTHING = { level: null, xp: null, premiumOwned: null, claimedTiers: null }

/** The result of a player whom the service refuses. Any other refusal is one of the whole call. */
function refused(playerId: string | null, error: unknown): PlayerProgress {
  const kind = error instanceof Refusal ? error.kind : undefined
  if (kind === 'playerNotFound') return { playerId, ...NOTHING, error: 'player not found' }
  if (kind === 'playerBanned') return { playerId, ...NOTHING, error: 'player banned' }
  if (kind === 'playerDeleted') return { playerId, ...NOTHING, error: 'player deleted' }
  throw error
}

export const progressOfPlayersCall = serverCall({
  request: progressOfPlayersRequest,
  contract: {
    id: 'readProgressOfPlayers',
    tag: 'Game servers',
    summary: 'Read the progress of several players on a pass.',
    answer: progressOfPlayersAnswer,
    refusals: ['scenarioNotFound', 'nodeNotFound'],
  },
  async run({ caller, input: { players, ...pass }, service }) {
    const found = await findTargets(service.pool, caller.environmentId, players)
    // Commands that wait together are decided in one group.
    const results = found.map(async (player): Promise<PlayerProgress> => {
      if (!player) return refused(null, new Refusal('playerNotFound'))
      const { playerId } = player
      return service.run(readProgress(player, pass)).then(
        (progress) => ({ playerId, ...progress, error: null }),
        (error) => refused(playerId, error),
      )
    })
    return { results: await Promise.all(results) }
  },
})

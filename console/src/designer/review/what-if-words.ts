import { stepTimeText } from '../../battlepass/steps.ts'
import type { ResultOf } from '../../graphql.ts'
import { countText } from '../../ui/count-text.ts'
import { playersText } from '../../ui/players-text.ts'
import { number, percent } from '../../ui/words.ts'
import { assetText } from '../model/totals.ts'
import type { replayQuery } from '../operations.ts'

export type Replay = ResultOf<typeof replayQuery>['replaySeason']
type Level = Replay['levels'][number]
type Reward = Replay['tracks'][number]['rewards'][number]

export const shareOf = (part: number, { players }: Pick<Replay, 'players'>): string =>
  percent(players === 0 ? null : part / players)

/** What a replay shows, in sentences. */
export function replaySentences(replay: Replay): string[] {
  const { players, playersInAll, owners, isComplete, sent, granted, levels, tracks } = replay
  if (players === 0) return ['Nobody has played that season.']
  const top = levels.at(-1)
  return [
    players === playersInAll
      ? `All ${playersText(players)} of the season were repeated.`
      : `${number(players)} of the ${playersText(playersInAll)} of the season were repeated: the same ones each time.`,
    ...(isComplete ? [] : ['The ledger has not all of their xp any more, so they come less far here than they would.']),
    `They sent ${number(sent)} xp. The draft would grant ${number(granted)}.`,
    ...(top ? [topText(top, replay)] : []),
    ...tracks.flatMap(({ track, rewards }) => {
      const among = track === 'FREE' ? players : owners
      if (rewards.length === 0 || among === 0) return []
      const whose = track === 'FREE' ? 'each player' : `each of ${countText(owners, 'owner')}`
      return [`The ${track.toLowerCase()} track would have given ${whose} ${rewardsText(rewards, among)} on average.`]
    }),
  ]
}

function topText(top: Level, replay: Replay): string {
  const reached = `${shareOf(top.players, replay)} would have reached the top level, ${top.level}`
  const days = top.medianDays === null ? '' : `, half of them within ${stepTimeText(top.medianDays)} of their first xp`
  return `${reached}${days}. In that season, ${shareOf(top.playersThen, replay)} reached its level ${top.level}.`
}

const rewardsText = (rewards: readonly Reward[], among: number): string =>
  rewards.map(({ amount, ...what }) => `${each(amount, among)} ${assetText(what)}`).join(', ')

/** An average with as many digits as a person reads. */
function each(amount: string, among: number): string {
  const average = Number(amount) / among
  return average >= 10 ? number(Math.round(average)) : String(Math.round(average * 10) / 10)
}

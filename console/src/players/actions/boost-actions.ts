import { MAX_BOOST_MINUTES, MAX_BOOST_PERCENT } from '../../../../src/base/limits.ts'
import { number } from '../../ui/words.ts'
import { endPlayerBoostMutation, grantPlayerBoostMutation } from './operations.ts'
import type { PlayerData, SupportAction } from './support-action.ts'

type PlayerBoost = PlayerData['boosts'][number]

export const grantPlayerBoostAction = ({ boosts }: PlayerData): SupportAction => ({
  title: 'Give a boost',
  fields: [
    { name: 'percent', label: 'Percent', kind: 'amount', hint: `1 to ${number(String(MAX_BOOST_PERCENT))}.` },
    { name: 'minutes', label: 'Minutes', kind: 'amount', hint: `1 to ${number(String(MAX_BOOST_MINUTES))}: 30 days.` },
  ],
  initial: { percent: '100', minutes: '60' },
  effect({ percent = '', minutes = '' }) {
    const isLonger = boosts.some((boost) => String(boost.percent) === percent)
    return isLonger
      ? `The boost of ${percent}% that the player has becomes ${number(minutes)} minutes longer, up to 30 days from now.`
      : `The player gets ${percent}% more of each xp for ${number(minutes)} minutes, in all scenarios.`
  },
  confirm: 'Give',
  mutation: grantPlayerBoostMutation,
  input: ({ percent, minutes }) => ({ percent: Number(percent), minutes: Number(minutes) }),
  done: ({ percent }) => `The player has a boost of ${percent}%.`,
})

export const endBoostAction = ({ boostId, percent }: Pick<PlayerBoost, 'boostId' | 'percent'>): SupportAction => ({
  title: 'End the boost',
  effect: () => `The boost of ${percent}% ends at once. Xp that it has given stays.`,
  confirm: 'End',
  tone: 'danger',
  mutation: endPlayerBoostMutation,
  input: () => ({ boostId }),
  done: (_values, { changed }) => (changed ? 'The boost has ended.' : 'The boost had ended before.'),
})

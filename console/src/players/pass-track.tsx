import { useEffect, useRef } from 'react'
import { type PassView, rewardText, type TierView } from '../scenario/read-definition.ts'
import { timeText } from '../ui/time.tsx'
import css from './player.module.css'

interface Claim {
  readonly level: number
  readonly track: 'FREE' | 'PREMIUM'
  readonly claimedAt: string
}

/** The levels of a pass with the tiers of both tracks, as players see them. */
export function PassTrack(props: {
  readonly view: PassView
  readonly level: number
  readonly premiumOwned: boolean
  readonly claims: readonly Claim[]
  readonly onTier: (tier: TierView, isClaimed: boolean) => void
}) {
  const { view, level, premiumOwned, claims, onTier } = props
  const here = useRef<HTMLLIElement>(null)
  const claimOf = new Map(claims.map((claim) => [`${claim.track} ${claim.level}`, claim]))
  const tierOf = new Map(view.tiers.map((tier) => [`${tier.track} ${tier.level}`, tier]))

  // The player's level is what one looks for.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another level is another place
  useEffect(() => {
    const item = here.current
    const box = item?.closest('section')
    if (item && box) box.scrollLeft = item.offsetLeft - box.clientWidth / 2
  }, [level])

  const cell = (track: 'FREE' | 'PREMIUM', at: number) => {
    const tier = tierOf.get(`${track} ${at}`)
    if (!tier) return <span key={track} className={css.none} />
    const claim = claimOf.get(`${track} ${at}`)
    const state = claim
      ? 'claimed'
      : at > level
        ? 'locked'
        : track === 'PREMIUM' && !premiumOwned
          ? 'needs premium'
          : 'claimable'
    const rewards = tier.rewards.map(rewardText).join(', ') || 'nothing'
    return (
      <button
        key={track}
        type="button"
        className={`${css.tier} ${state === 'claimed' ? css.claimed : state === 'claimable' ? css.claimable : css.locked}`}
        title={claim ? `claimed ${timeText(claim.claimedAt, 'UTC')} UTC` : state}
        onClick={() => onTier(tier, claim !== undefined)}
      >
        <strong>
          {track === 'FREE' ? 'free' : 'premium'}
          <span className="hidden"> tier of level {at}</span>
          {state === 'claimed' && ' ✓'}
        </strong>
        {rewards}
        <span className="hidden">, {state}</span>
      </button>
    )
  }

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <section className={css.track} aria-label={`Track of ${view.id}`} tabIndex={0}>
      <ol>
        {view.levels.map((one) => (
          <li
            key={one.level}
            ref={one.level === level ? here : undefined}
            className={one.level <= level ? `${css.level} ${css.reached}` : css.level}
          >
            <span className={css.number} title={`${one.xp} xp`}>
              {one.level}
            </span>
            {cell('FREE', one.level)}
            {cell('PREMIUM', one.level)}
          </li>
        ))}
      </ol>
    </section>
  )
}

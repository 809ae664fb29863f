import { useEffect, useRef } from 'react'
import { type ClaimTrack, offerText, type PassView, type TierView } from '../scenario/read-definition.ts'
import { useDenial } from '../session/permission.tsx'
import { timeText } from '../ui/time.tsx'
import { toast } from '../ui/toast.tsx'
import css from './player.module.css'

interface Claim {
  readonly level: number
  readonly track: ClaimTrack
  readonly claimedAt: string
}

/** The levels of a pass with the tiers of both tracks, as players see them. */
export function PassTrack(props: {
  readonly view: PassView
  readonly level: number
  readonly premiumOwned: boolean
  readonly claims: readonly Claim[]
  /** False outside of the time to claim: a tier that is reached cannot be claimed then. */
  readonly isClaimTime: boolean
  /** Called when a tier is pressed. Without it, tiers cannot be pressed. */
  readonly onTier?: (tier: TierView, isClaimed: boolean) => void
}) {
  const { view, level, premiumOwned, claims, isClaimTime, onTier } = props
  const denial = useDenial('act')
  const here = useRef<HTMLLIElement>(null)
  const claimOf = new Map(claims.map((claim) => [`${claim.track} ${claim.level}`, claim]))
  const tierOf = new Map(view.tiers.map((tier) => [`${tier.track} ${tier.level}`, tier]))

  // Scrolls to the player's level.
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
          : isClaimTime
            ? 'claimable'
            : 'not claimed'
    const rewards = offerText(tier)
    const text = claim ? `claimed ${timeText(claim.claimedAt, 'UTC')} UTC` : state
    return (
      <button
        key={track}
        type="button"
        className={`${css.tier} ${state === 'claimed' ? css.claimed : state === 'claimable' ? css.claimable : css.locked}`}
        title={denial && onTier ? `${text}. ${denial}` : text}
        aria-disabled={denial !== undefined || onTier === undefined || undefined}
        onClick={() => (denial && onTier ? toast(denial, 'error') : onTier?.(tier, claim !== undefined))}
      >
        <strong>
          {track === 'FREE' ? 'free' : 'premium'}
          <span className="hidden"> tier of level {at}</span>
        </strong>
        {rewards}
        <small>
          <span className="hidden">, </span>
          {state === 'claimed' ? '✓ claimed' : state}
        </small>
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
              <span className="hidden">Level </span>
              {one.level}
              <span className="hidden">{one.level <= level ? ', reached' : ', not reached'}</span>
            </span>
            {cell('FREE', one.level)}
            {cell('PREMIUM', one.level)}
          </li>
        ))}
      </ol>
    </section>
  )
}

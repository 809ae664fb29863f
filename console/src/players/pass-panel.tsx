import type { ReactNode } from 'react'
import { levelAt } from '../../../src/game/battlepass/decide.ts'
import type { PassView } from '../scenario/read-definition.ts'
import { useGameNow } from '../shell/clock.tsx'
import { Button } from '../ui/button.tsx'
import { Panel } from '../ui/page.tsx'
import { Loading } from '../ui/states.tsx'
import { number, percent } from '../ui/words.ts'
import { bonusText, closedClaims, closedSeason } from './actions/forecast.ts'
import {
  grantPremiumAction,
  grantTierAction,
  grantXpAction,
  resetPassAction,
  resetTierAction,
  revokePremiumAction,
} from './actions/pass-actions.ts'
import { ActionButton } from './actions/use-action.tsx'
import { PassTrack } from './pass-track.tsx'
import css from './player.module.css'
import type { Pass } from './running-pass.ts'
import type { TabProps } from './tabs/tab.ts'
import { useParameter } from './use-parameter.ts'
import { XpLedger } from './xp-ledger.tsx'

/** One pass of a player: the level, the track, its actions and its ledger. */
export function PassPanel(
  props: TabProps & {
    readonly pass: Pass
    readonly hasRun: boolean | undefined
    readonly view: PassView | undefined
    readonly definition: 'read' | 'loading' | 'failed'
  },
) {
  const { player, open, pass, view, hasRun, definition } = props
  const { scenarioId, nodeId, xp, premiumOwned, completed } = pass
  const [ledger, setLedger] = useParameter('ledger')
  const isDeleted = player.status === 'DELETED'
  const now = useGameNow()
  const ref = { ...pass, view, hasRun, now }
  const notes = [
    pass.id === null ? 'Not begun yet: a pass begins with the first xp, claim or purchase.' : undefined,
    view && closedSeason(view, now),
    view && closedClaims(view, now),
    view && bonusText(view, pass),
    hasRun === false ? `No active run of ${scenarioId}: xp and tiers are granted in one.` : undefined,
  ].filter((note) => note !== undefined)
  return (
    <Panel
      title={`${scenarioId} / ${nodeId}`}
      actions={
        isDeleted ? undefined : (
          <>
            <ActionButton onClick={() => open(grantXpAction(ref))}>Grant xp</ActionButton>
            <ActionButton onClick={() => open(grantTierAction(ref))}>Grant a tier</ActionButton>
            {premiumOwned ? (
              <ActionButton onClick={() => open(revokePremiumAction(ref))}>Revoke premium</ActionButton>
            ) : (
              <ActionButton onClick={() => open(grantPremiumAction(ref))}>Grant premium</ActionButton>
            )}
            {pass.id !== null && (
              <ActionButton tone="danger" onClick={() => open(resetPassAction(ref))}>
                Reset the pass
              </ActionButton>
            )}
          </>
        )
      }
    >
      <XpBar xp={xp} level={pass.level} view={view}>
        {premiumOwned && <span className="badge">premium</span>}{' '}
        {completed && <span className="badge good">completed</span>}
      </XpBar>
      {notes.length > 0 && <p className="muted">{notes.join(' ')}</p>}
      {view ? (
        <PassTrack
          view={view}
          level={levelAt(view, BigInt(xp))}
          premiumOwned={premiumOwned}
          claims={pass.claims}
          isClaimTime={closedClaims(view, now) === undefined}
          onTier={
            isDeleted
              ? undefined
              : (tier, isClaimed) => open(isClaimed ? resetTierAction(ref, tier) : grantTierAction(ref, tier))
          }
        />
      ) : definition === 'loading' ? (
        <Loading />
      ) : (
        <p className="muted">
          {definition === 'failed'
            ? 'The scenario could not be read, so the track is not shown.'
            : 'The published version has no such pass.'}
        </p>
      )}
      {pass.id !== null && (
        <div className="actions">
          <Button
            onClick={() => setLedger(ledger === pass.id ? null : pass.id)}
            pressed={ledger === pass.id}
            label={`Xp ledger of ${nodeId}`}
          >
            Xp ledger
          </Button>
        </div>
      )}
      {pass.id !== null && ledger === pass.id && <XpLedger passId={pass.id} />}
    </Panel>
  )
}

/** The level, and how far it is to the next one. */
function XpBar(props: {
  readonly xp: string
  /** Shown while the definition is not known. */
  readonly level: number
  readonly view: PassView | undefined
  readonly children: ReactNode
}) {
  const { view, children } = props
  const total = BigInt(props.xp)
  const level = view ? levelAt(view, total) : props.level
  const next = view?.levels.find((one) => one.level > level)
  const from = view?.levels.find((one) => one.level === level)?.xp ?? 0n
  const share = next ? Number(total - from) / Math.max(1, Number(next.xp - from)) : 1
  return (
    <>
      <p translate="no">
        Level <strong>{level}</strong>, {number(props.xp)} xp
        {next && `, ${number(String(next.xp - total))} to level ${next.level} (${percent(share)})`}. {children}
      </p>
      {view && (
        <div className={css.bar} aria-hidden="true">
          <div style={{ width: `${Math.round(share * 100)}%` }} />
        </div>
      )}
    </>
  )
}

import { useState } from 'react'
import { useQuery } from 'urql'
import { definitionQuery } from '../../battlepass/operations.ts'
import { levelAt, readDefinition } from '../../scenario/read-definition.ts'
import { Button } from '../../ui/button.tsx'
import { Panel } from '../../ui/page.tsx'
import { usePages } from '../../ui/pages.ts'
import { Empty, Loading } from '../../ui/states.tsx'
import { PagedTable } from '../../ui/table.tsx'
import { number, percent } from '../../ui/text.tsx'
import { Time } from '../../ui/time.tsx'
import {
  grantPremiumAction,
  grantTierAction,
  grantXpAction,
  resetPassAction,
  resetTierAction,
  revokePremiumAction,
} from '../actions/pass-actions.ts'
import type { PlayerData } from '../actions/support-action.ts'
import { ActionButton } from '../actions/use-action.tsx'
import { xpLedgerQuery } from '../operations.ts'
import { PassTrack } from '../pass-track.tsx'
import css from '../player.module.css'
import type { TabProps } from './tab.ts'

export function PassesTab(props: TabProps) {
  if (props.player.passes.length === 0)
    return <Empty title="No pass begun">A pass begins with the first xp, claim or purchase.</Empty>
  return props.player.passes.map((pass) => <Pass key={pass.id} pass={pass} {...props} />)
}

function Pass({ player, open, pass }: TabProps & { readonly pass: PlayerData['passes'][number] }) {
  const { scenarioId, nodeId, xp, premiumOwned, completed } = pass
  const [isLedger, setLedger] = useState(false)
  const [{ data, fetching }] = useQuery({
    query: definitionQuery,
    variables: { environment: player.environment, scenarioId },
  })
  const view = readDefinition(data?.scenario?.definition).passes.find(({ id }) => id === nodeId)
  const ref = { scenarioId, nodeId, view }
  const total = BigInt(xp)
  const level = view ? levelAt(view, total) : pass.level
  const next = view?.levels.find((one) => one.level > level)
  const from = view?.levels.find((one) => one.level === level)?.xp ?? 0n
  const share = next ? Number(total - from) / Math.max(1, Number(next.xp - from)) : 1
  return (
    <Panel
      title={`${scenarioId} / ${nodeId}`}
      actions={
        player.status === 'DELETED' ? undefined : (
          <>
            <ActionButton onClick={() => open(grantXpAction(player, ref))}>Grant xp</ActionButton>
            <ActionButton onClick={() => open(grantTierAction(player, ref))}>Grant a tier</ActionButton>
            {premiumOwned ? (
              <ActionButton onClick={() => open(revokePremiumAction(player, ref))}>Revoke premium</ActionButton>
            ) : (
              <ActionButton onClick={() => open(grantPremiumAction(player, ref))}>Grant premium</ActionButton>
            )}
            <ActionButton tone="danger" onClick={() => open(resetPassAction(player, ref))}>
              Reset the pass
            </ActionButton>
          </>
        )
      }
    >
      <p>
        Level <strong>{level}</strong>, {number(xp)} xp
        {next && `, ${number(String(next.xp - total))} to level ${next.level} (${percent(share)})`}.{' '}
        {premiumOwned && <span className="badge">premium</span>}{' '}
        {completed && <span className="badge good">completed</span>}
      </p>
      <div className={css.bar} aria-hidden="true">
        <div style={{ width: `${Math.round(share * 100)}%` }} />
      </div>
      {view ? (
        <PassTrack
          view={view}
          level={level}
          premiumOwned={premiumOwned}
          claims={pass.claims}
          onTier={(tier, isClaimed) =>
            open(isClaimed ? resetTierAction(player, ref, tier) : grantTierAction(player, ref, tier))
          }
        />
      ) : fetching ? (
        <Loading />
      ) : (
        <p className="muted">The published version has no such pass.</p>
      )}
      <div className="actions">
        <Button onClick={() => setLedger(!isLedger)} pressed={isLedger}>
          Xp ledger
        </Button>
      </div>
      {isLedger && <XpLedger passId={pass.id} />}
    </Panel>
  )
}

function XpLedger({ passId }: { passId: string }) {
  const pages = usePages({
    query: xpLedgerQuery,
    variables: { passId },
    connectionOf: ({ node }) => (node !== null && 'xpLedger' in node ? node.xpLedger : null),
  })
  return (
    <PagedTable
      caption="Xp ledger"
      pages={pages}
      keyOf={({ id }) => id}
      empty={<Empty title="No xp was granted" />}
      columns={[
        { title: 'Time', cell: ({ occurredAt }) => <Time at={occurredAt} /> },
        { title: 'Xp', isNumber: true, cell: ({ amount }) => number(amount) },
        { title: 'Source', cell: ({ source }) => source || <span className="muted">none</span> },
        { title: 'Run', cell: ({ runId }) => <code>{runId}</code> },
      ]}
    />
  )
}

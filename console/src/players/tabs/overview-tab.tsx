import { Link } from 'wouter'
import { Facts, Panel } from '../../ui/page.tsx'
import { Empty, Notice } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { Id } from '../../ui/text.tsx'
import { Ago, Moment, Time } from '../../ui/time.tsx'
import { number } from '../../ui/words.ts'
import { unlinkAction } from '../actions/account-actions.ts'
import { endBoostAction } from '../actions/boost-actions.ts'
import { ActionButton } from '../actions/use-action.tsx'
import { debitAction } from '../actions/wallet-actions.ts'
import { Timeline } from '../timeline.tsx'
import { Reference } from './reference.tsx'
import type { TabProps } from './tab.ts'

/** What the player has, what happened to it, and who it is. */
export function OverviewTab({ player, open }: TabProps) {
  const { environment, wallet, inventory, boosts, identities, passes, playerId, sessions } = player
  return (
    <>
      <div className="columns">
        <Panel
          title="Wallet"
          actions={
            player.status === 'DELETED' || wallet.length === 0 ? undefined : (
              <ActionButton onClick={() => open(debitAction(player))}>Debit</ActionButton>
            )
          }
        >
          <Table
            whole
            caption="Balances"
            rows={wallet}
            empty={<Empty title="The wallet is empty" />}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Currency', cell: ({ currency }) => currency },
              { title: 'Balance', isNumber: true, cell: ({ balance }) => number(balance) },
            ]}
          />
        </Panel>
        <Panel title="Battle passes">
          <Table
            whole
            caption="Battle passes"
            rows={passes}
            empty={<Empty title="No pass begun">A pass begins with the first xp, claim or purchase.</Empty>}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Pass',
                cell: ({ scenarioId, nodeId }) => (
                  <Link
                    href={`/env/${environment}/players/${playerId}/passes`}
                    className="clip wide"
                    title={`${scenarioId} / ${nodeId}`}
                  >
                    {scenarioId} / {nodeId}
                  </Link>
                ),
              },
              { title: 'Level', isNumber: true, cell: ({ level }) => level },
              { title: 'Xp', isNumber: true, cell: ({ xp }) => number(xp) },
              { title: 'Claims', isNumber: true, cell: ({ claims }) => claims.length },
              {
                title: 'State',
                cell: ({ premiumOwned, completed }) => (
                  <>
                    {premiumOwned && <span className="badge">premium</span>}{' '}
                    {completed && <span className="badge good">completed</span>}
                  </>
                ),
              },
            ]}
          />
        </Panel>
      </div>
      <Timeline player={player} open={open} />
      <div className="columns">
        {inventory.length > 0 && (
          <Panel title="Inventory">
            <Table
              caption="Inventory"
              rows={inventory}
              keyOf={({ id }) => id}
              columns={[
                { title: 'Item', cell: ({ itemId }) => itemId },
                { title: 'Amount', isNumber: true, cell: ({ amount }) => number(amount) },
              ]}
            />
          </Panel>
        )}
        {boosts.length > 0 && (
          <Panel title="Boosts">
            <Table
              whole
              caption="Boosts"
              rows={boosts}
              keyOf={({ id }) => id}
              columns={[
                { title: 'Percent', isNumber: true, cell: ({ percent }) => `+${number(String(percent))}%` },
                { title: 'Ends', cell: ({ endsAt }) => <Ago at={endsAt} /> },
                { title: 'Reference', cell: ({ reference }) => <Reference of={reference} player={player} /> },
                {
                  title: 'Action',
                  cell: (boost) => (
                    <ActionButton
                      tone="quiet"
                      label={`End the boost of ${boost.percent}%`}
                      onClick={() => open(endBoostAction(boost))}
                    >
                      End
                    </ActionButton>
                  ),
                },
              ]}
            />
          </Panel>
        )}
        <Panel title="Profile">
          <Facts
            of={{
              Id: <Id of={playerId} />,
              Created: <Moment at={player.createdAt} />,
              'Last login': <Moment at={player.lastLoginAt} />,
              Region: player.region ?? '–',
              Language: player.language ?? '–',
            }}
          />
        </Panel>
        <Panel title="Identities">
          <Table
            whole
            caption="Identities"
            rows={identities}
            empty={<Empty title="No identity">Nobody can log in to this player.</Empty>}
            keyOf={({ provider, subject }) => `${provider} ${subject}`}
            columns={[
              { title: 'Provider', cell: ({ provider }) => provider },
              { title: 'Subject', cell: ({ subject }) => <Id of={subject} /> },
              {
                title: 'Action',
                cell: ({ provider, subject }) =>
                  player.status === 'DELETED' ? (
                    '–'
                  ) : (
                    <ActionButton
                      tone="quiet"
                      label={`Unlink ${subject}`}
                      onClick={() => open(unlinkAction(player, provider, subject))}
                    >
                      Unlink
                    </ActionButton>
                  ),
              },
            ]}
          />
        </Panel>
        <Panel title="Sessions">
          {player.deleteAt && (
            <Notice tone="warning">
              The player has asked for its deletion: it takes place at <Moment at={player.deleteAt} />, unless the
              player logs in before.
            </Notice>
          )}
          <Table
            whole
            caption="Sessions"
            rows={sessions}
            empty={<Empty title="No session">The player is logged in on no device.</Empty>}
            keyOf={({ sessionId }) => sessionId}
            columns={[
              { title: 'Device', cell: ({ device }) => device ?? <span className="muted">not named</span> },
              { title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} parts="minute" /> },
              { title: 'Last used', cell: ({ lastUsedAt }) => <Ago at={lastUsedAt} /> },
            ]}
          />
        </Panel>
      </div>
    </>
  )
}

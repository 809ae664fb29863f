import type { ReactNode } from 'react'
import { useQuery } from 'urql'
import { Link } from 'wouter'
import { useEnvironment } from '../shell/environment.tsx'
import { usePathParameters } from '../ui/address.ts'
import { Page } from '../ui/page.tsx'
import { Answer, Empty, Notice } from '../ui/states.tsx'
import { Id } from '../ui/text.tsx'
import { Moment } from '../ui/time.tsx'
import { banAction, deleteAction, endSessionsAction, nameOf, unbanAction } from './actions/account-actions.ts'
import type { PlayerData } from './actions/support-action.ts'
import { ActionButton, useAction } from './actions/use-action.tsx'
import { playerQuery } from './operations.ts'
import css from './player.module.css'
import { StatusBadge } from './status-badge.tsx'
import { AuditTab } from './tabs/audit-tab.tsx'
import { EventsTab } from './tabs/events-tab.tsx'
import { InboxTab } from './tabs/inbox-tab.tsx'
import { LoginsTab } from './tabs/logins-tab.tsx'
import { OverviewTab } from './tabs/overview-tab.tsx'
import { PassesTab } from './tabs/passes-tab.tsx'
import { RunsTab } from './tabs/runs-tab.tsx'
import { StorageTab } from './tabs/storage-tab.tsx'
import { WalletTab } from './tabs/wallet-tab.tsx'

const TABS = [
  ['overview', 'Overview', OverviewTab],
  ['passes', 'Passes', PassesTab],
  ['wallet', 'Wallet ledger', WalletTab],
  ['inbox', 'Inbox', InboxTab],
  ['runs', 'Runs', RunsTab],
  ['logins', 'Logins', LoginsTab],
  ['storage', 'Storage', StorageTab],
  ['events', 'Events', EventsTab],
  ['audit', 'Audit', AuditTab],
] as const

/** A new page for each player: no state and no dialog of the last one stays. */
export default function PlayerPage() {
  const { playerId = '' } = usePathParameters()
  return <PlayerById key={playerId} playerId={playerId} />
}

function PlayerById({ playerId }: { playerId: string }) {
  const environment = useEnvironment()
  const [result, read] = useQuery({
    query: playerQuery,
    variables: { id: playerId },
    requestPolicy: 'cache-and-network',
  })
  return (
    <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
      {({ player }) =>
        player === null ? (
          <Page title="Player">
            <Empty title="There is no such player">
              The id {playerId} belongs to no player of this project.{' '}
              <Link href={`/env/${environment}/players`}>Find players</Link>
            </Empty>
          </Page>
        ) : player.environment !== environment ? (
          <Page title="Player">
            <Empty title={`This player is in ${player.environment}`}>
              <Link href={`/env/${player.environment}/players/${player.playerId}`}>Go to the player there</Link>
            </Empty>
          </Page>
        ) : (
          <Player player={player} />
        )
      }
    </Answer>
  )
}

function Player({ player }: { player: PlayerData }) {
  const { tab = 'overview' } = usePathParameters()
  const { open, dialog } = useAction(player)
  const [, , Tab] = TABS.find(([name]) => name === tab) ?? TABS[0]
  const base = `/env/${player.environment}/players/${player.playerId}`
  return (
    <Page
      title={nameOf(player)}
      actions={
        player.status === 'DELETED' ? undefined : (
          <>
            <ActionButton onClick={() => open(endSessionsAction)}>End logins</ActionButton>
            {player.status === 'BANNED' ? (
              <ActionButton onClick={() => open(unbanAction(player))}>Unban</ActionButton>
            ) : (
              <ActionButton onClick={() => open(banAction(player))}>Ban</ActionButton>
            )}
            <ActionButton tone="danger" onClick={() => open(deleteAction(player))}>
              Delete
            </ActionButton>
          </>
        )
      }
    >
      <div className={css.header}>
        <span className={css.initials} aria-hidden="true">
          {initials(nameOf(player))}
        </span>
        <dl className={css.facts}>
          <Fact name="Status">
            <StatusBadge status={player.status} />
          </Fact>
          <Fact name="Id">
            <Id of={player.playerId} />
          </Fact>
          <Fact name="Created">
            <Moment at={player.createdAt} />
          </Fact>
          <Fact name="Last login">
            <Moment at={player.lastLoginAt} />
          </Fact>
          <Fact name="Region">{player.region ?? '–'}</Fact>
          <Fact name="Language">{player.language ?? '–'}</Fact>
        </dl>
      </div>
      {player.ban && <BanNotice ban={player.ban} />}
      {player.status === 'DELETED' && (
        <Notice tone="warning">
          This player is deleted: its profile, storage and logins are erased. Ledgers and claims stay for the books.
        </Notice>
      )}
      <nav className="tabs" aria-label="Parts of the player">
        {TABS.map(([name, title]) => (
          <Link
            key={name}
            href={name === 'overview' ? base : `${base}/${name}`}
            aria-current={tab === name ? 'page' : undefined}
          >
            {title}
          </Link>
        ))}
      </nav>
      <Tab player={player} open={open} />
      {dialog}
    </Page>
  )
}

const BanNotice = ({ ban: { kind, until, publicReason } }: { ban: NonNullable<PlayerData['ban']> }) => (
  <Notice tone="warning">
    {kind === 'LOGIN' ? 'Logins of this player are refused' : 'Every call of this player is refused'}
    {until === null ? ', until the ban is lifted.' : ' until '}
    {until !== null && <Moment at={until} />}
    {publicReason !== null && ` The player sees: “${publicReason}”`}
  </Notice>
)

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

const initials = (name: string): string =>
  name
    .split(/[\s_-]+/)
    .slice(0, 2)
    // A letter may be two units of UTF-16.
    .map((part) => [...part][0]?.toUpperCase() ?? '')
    .join('')

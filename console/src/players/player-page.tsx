import { useQuery } from 'urql'
import { Link } from 'wouter'
import { useDenial, useOwnLimits } from '../session/permission.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { usePageCommands } from '../shell/page-commands.ts'
import { usePathParameters } from '../ui/address.ts'
import { type MenuItem, RoleMenu } from '../ui/menu.tsx'
import { Page } from '../ui/page.tsx'
import { Answer, Empty, Notice } from '../ui/states.tsx'
import { Ago, Moment } from '../ui/time.tsx'
import { number } from '../ui/words.ts'
import { nameOf } from './actions/account-actions.ts'
import { actionsOf, type PlayerAction } from './actions/player-actions.ts'
import type { PassRef, PlayerData } from './actions/support-action.ts'
import { ActionButton, useAction } from './actions/use-action.tsx'
import { playerHref } from './addresses.ts'
import { currenciesQuery, playerQuery } from './operations.ts'
import css from './player.module.css'
import { type Pass, useRunningPass } from './running-pass.ts'
import { StatusBadge } from './status-badge.tsx'
import { AuditTab } from './tabs/audit-tab.tsx'
import { EventsTab } from './tabs/events-tab.tsx'
import { InboxTab } from './tabs/inbox-tab.tsx'
import { LoginsTab } from './tabs/logins-tab.tsx'
import { OverviewTab } from './tabs/overview-tab.tsx'
import { PassesTab } from './tabs/passes-tab.tsx'
import { RunsTab } from './tabs/runs-tab.tsx'
import { StorageTab } from './tabs/storage-tab.tsx'
import type { TabProps } from './tabs/tab.ts'
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
  const pass = useRunningPass(player)
  const [, , Tab] = TABS.find(([name]) => name === tab) ?? TABS[0]
  const base = playerHref(player)
  return (
    <Page
      title={nameOf(player)}
      about={<Line player={player} pass={pass} />}
      actions={player.status === 'DELETED' ? undefined : <Actions player={player} pass={pass} open={open} />}
    >
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

/** What a person must know first. */
const Line = ({ player, pass }: { player: PlayerData; pass: Pass | undefined }) => (
  <dl className={css.line}>
    <div>
      <dt className="hidden">Status</dt>
      <dd>
        <StatusBadge status={player.status} />
      </dd>
    </div>
    {pass && (
      <div>
        <dt>Level</dt>
        <dd title={`${pass.scenarioId} / ${pass.nodeId}`}>
          {pass.level} {pass.premiumOwned && <span className="badge">premium</span>}
        </dd>
      </div>
    )}
    <div>
      <dt>Wallet</dt>
      <dd>{walletText(player.wallet)}</dd>
    </div>
    <div>
      <dt>Last seen</dt>
      <dd>{player.lastLoginAt === null ? 'never' : <Ago at={player.lastLoginAt} />}</dd>
    </div>
  </dl>
)

/** The first balances. The overview has all of them. */
function walletText(wallet: PlayerData['wallet'], shown = 3): string {
  if (wallet.length === 0) return 'empty'
  const first = wallet.slice(0, shown).map(({ currency, balance }) => `${number(balance)} ${currency}`)
  return `${first.join(', ')}${wallet.length > shown ? ` and ${wallet.length - shown} more` : ''}`
}

/** What is needed most stands at hand, the rest in menus. The menu of commands has all of it. */
function Actions({ player, pass, open }: TabProps & { readonly pass: (Pass & PassRef) | undefined }) {
  const { environment } = player
  const [{ data, fetching }] = useQuery({ query: currenciesQuery, variables: { environment } })
  const known = data?.currencies.nodes
  const { credit, grants, more } = actionsOf(player, pass, known, useOwnLimits()?.maxCredit ?? null)
  const isDenied = useDenial('act') !== undefined
  const items = (actions: readonly PlayerAction[]): MenuItem[] =>
    actions.map(({ action, note }) => ({
      name: action.title,
      note,
      run: () => open(action),
      ...(action === more.at(-1)?.action && { tone: 'danger' }),
    }))
  usePageCommands(
    isDenied
      ? []
      : items([credit, ...grants, ...more]).map(({ name, note, run }) => ({
          name,
          run,
          note: [nameOf(player), note].filter(Boolean).join(', '),
        })),
  )
  return (
    <>
      <ActionButton tone="primary" busy={fetching && !known} onClick={() => open(credit.action)}>
        Credit
      </ActionButton>
      <RoleMenu needs="act" name="Grant" items={items(grants)} />
      <RoleMenu needs="act" name="More" items={items(more)} />
    </>
  )
}

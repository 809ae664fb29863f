import { useQuery } from 'urql'
import { Link } from 'wouter'
import { isProduction } from '../../../src/base/limits.ts'
import { useDenial } from '../session/permission.tsx'
import { clockText, type ShownClock } from '../shell/clock-text.ts'
import { Button, RoleButton } from '../ui/button.tsx'
import { textOf } from '../ui/errors.ts'
import { Panel } from '../ui/page.tsx'
import { Loading, Notice } from '../ui/states.tsx'
import { Time } from '../ui/time.tsx'
import { number } from '../ui/words.ts'
import { environmentStepsQuery } from './operations.ts'

interface EnvironmentProps {
  readonly name: string
  readonly createdAt: string
  readonly sdkKeys: number
  /** Null for the real one. */
  readonly clock: ShownClock | null
  readonly onSetClock: () => void
}

/** One environment: its pages, and what it still needs before players can play. */
export function EnvironmentPanel({ name, createdAt, sdkKeys, clock, onSetClock }: EnvironmentProps) {
  const withPlayers = useDenial('players') === undefined
  return (
    <Panel
      title={name}
      actions={
        isProduction(name) ? (
          <span className="badge production">production</span>
        ) : (
          <RoleButton needs="manage" onClick={onSetClock}>
            Set the clock
          </RoleButton>
        )
      }
    >
      <p className="muted">
        Created <Time at={createdAt} parts="minute" />, {number(sdkKeys)} valid SDK {sdkKeys === 1 ? 'key' : 'keys'}
      </p>
      {clock && <p>{clockText(name, clock)}</p>}
      <Steps name={name} sdkKeys={sdkKeys} />
      <nav className="actions" aria-label={`Pages of ${name}`}>
        {withPlayers && <Link href={`/env/${name}/live`}>Live</Link>}
        <Link href={`/env/${name}/battle-pass`}>Battle pass</Link>
        {withPlayers && <Link href={`/env/${name}/players`}>Players</Link>}
        <Link href={`/env/${name}/scenarios`}>Designer</Link>
        <Link href={`/env/${name}/providers`}>Providers</Link>
        <Link href={`/project/audit?environment=${name}`}>Audit log</Link>
      </nav>
    </Panel>
  )
}

function Steps({ name, sdkKeys }: { name: string; sdkKeys: number }) {
  const withPlayers = useDenial('players') === undefined
  const [{ data, error, fetching }, read] = useQuery({
    query: environmentStepsQuery,
    variables: { environment: name, withPlayers },
    requestPolicy: 'cache-and-network',
  })
  if (!data) {
    if (fetching || !error) return <Loading />
    return (
      <Notice tone="error">
        What {name} needs could not be read. {textOf(error)}{' '}
        <Button onClick={() => read({ requestPolicy: 'network-only' })}>Try again</Button>
      </Notice>
    )
  }
  const steps = [
    [data.scenarios.nodes.length > 0, 'Publish a scenario', `/env/${name}/scenarios`],
    [
      data.authProviders[0]?.custom.some(({ enabled }) => enabled) === true,
      'Set a login provider, and enable it',
      `/env/${name}/providers`,
    ],
    [sdkKeys > 0, 'Make an SDK key for the game client', `/project/keys?environment=${name}`],
    ...(data.players
      ? [[data.players.nodes.length > 0, 'Log a first player in', `/env/${name}/players`] as const]
      : []),
  ] as const
  const done = steps.filter(([isDone]) => isDone).length
  if (done === steps.length)
    return (
      <p>
        <span className="badge good">ready</span> Players can play.
      </p>
    )
  return (
    <>
      <p>
        {done} of {steps.length} steps are done.
      </p>
      <ol className="steps">
        {steps.map(([isDone, what, href]) => (
          <li key={what}>
            <span className={isDone ? 'badge good' : 'badge warn'}>{isDone ? 'done' : 'to do'}</span>{' '}
            <Link href={href}>{what}</Link>
          </li>
        ))}
      </ol>
    </>
  )
}

import { useEffect, useRef, useState } from 'react'
import { useQuery } from 'urql'
import { Link, useParams } from 'wouter'
import type { ResultOf } from '../graphql.ts'
import { PlayerName } from '../players/player-name.tsx'
import { AuditAction } from '../project/audit-action.tsx'
import { auditLogQuery } from '../project/operations.ts'
import { Who } from '../project/who.tsx'
import { useDenial, useOperator } from '../session/permission.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Button, RoleButton } from '../ui/button.tsx'
import { sentence } from '../ui/errors.ts'
import { FilterSelect, useFilters } from '../ui/filters.tsx'
import { Facts, Page, Panel } from '../ui/page.tsx'
import { usePages } from '../ui/pages.ts'
import { playersText } from '../ui/players-text.ts'
import { Answer, Empty, Notice } from '../ui/states.tsx'
import { PagedTable, Table } from '../ui/table.tsx'
import { Id } from '../ui/text.tsx'
import { Ago, Moment } from '../ui/time.tsx'
import { number, words } from '../ui/words.ts'
import { jobHref } from './addresses.ts'
import { assetsText, ENDED, giftText, type Job, jobText, targetText } from './gift.ts'
import css from './grants.module.css'
import { MoveDialog, type MoveName, SaveOutcomes, UndoDialog } from './job-dialogs.tsx'
import { jobPlayersQuery, jobQuery } from './operations.ts'
import { Progress, StateBadge } from './progress.tsx'
import { useJobEvents } from './use-job-events.ts'

type WholeJob = NonNullable<ResultOf<typeof jobQuery>['grantJob']>

/** One grant: where it stands, its players, and what can be done with it. */
export default function JobPage() {
  const environment = useEnvironment()
  const { jobId = '' } = useParams()
  const [result, read] = useQuery({
    query: jobQuery,
    variables: { environment, jobId },
    requestPolicy: 'cache-and-network',
  })
  const job = result.data?.grantJob
  const { jobs } = useJobEvents(environment, job ? [job] : [], () => read({ requestPolicy: 'network-only' }), jobId)
  const [shown] = jobs
  if (shown) return <Shown key={shown.jobId} job={shown} />
  return (
    <Page title="Grant">
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {() => <Empty title="There is no such grant" />}
      </Answer>
    </Page>
  )
}

type Open = MoveName | 'undo' | 'csv'

function Shown({ job }: { job: WholeJob }) {
  const environment = useEnvironment()
  const { actor } = useOperator()
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const { state, undos, undoOf, note, reason, createdAt, startedAt, finishedAt, failedByCause } = job
  const isOwn = job.operator === actor
  const canUndo = ENDED.includes(state) && undoOf === null && job.granted > 0 && !job.give.xp && !job.give.levels
  const action = (name: Open, text: string, tone?: 'primary' | 'danger') => (
    <RoleButton needs="jobs" tone={tone} onClick={() => setOpen(name)}>
      {text}
    </RoleButton>
  )
  return (
    <Page
      title={`Grant: ${jobText(job)}`}
      actions={
        <>
          <Link href={`/env/${environment}/grants`}>All grants</Link>
          {state === 'AWAITING_APPROVAL' && !isOwn && action('approve', 'Approve', 'primary')}
          {state === 'RUNNING' && action('pause', 'Pause')}
          {state === 'PAUSED' && action('resume', 'Resume', 'primary')}
          {!ENDED.includes(state) && action('cancel', 'Cancel', 'danger')}
          {canUndo && action('undo', 'Undo', 'danger')}
          {action('csv', 'CSV of the players')}
        </>
      }
    >
      {state === 'AWAITING_APPROVAL' && (
        <Notice tone="warning">
          {isOwn
            ? 'You made this grant, so another person must approve it. Until then nobody gets anything.'
            : 'A second person must approve this grant. Until then nobody gets anything.'}
        </Notice>
      )}
      {note !== null && <Notice tone={state === 'FAILED' ? 'error' : 'warning'}>{sentence(note)}</Notice>}
      {ENDED.includes(state) && (job.give.xp || job.give.levels) && undoOf === null && (
        <p className="muted">Xp and levels are not taken back, so this grant has no undo.</p>
      )}
      <div className="columns">
        <Panel title="Where it stands" actions={<StateBadge state={state} />}>
          <Progress {...job} />
          <Facts
            of={{
              Made: (
                <>
                  <Moment at={createdAt} /> by {job.operator ?? 'a platform key'}
                </>
              ),
              Approved: job.approvedAt !== null && (
                <>
                  <Moment at={job.approvedAt} /> by {job.approvedBy ?? 'another platform key'}
                </>
              ),
              Began: startedAt !== null && <Moment at={startedAt} />,
              Ended: finishedAt !== null && <Moment at={finishedAt} />,
              'Takes back': undoOf !== null && <Link href={jobHref(environment, undoOf.jobId)}>this grant</Link>,
              'Taken back by':
                undos.length > 0 &&
                undos.map((one) => (
                  <Link key={one.id} href={jobHref(environment, one.jobId)}>
                    an undo, {words(one.state)}{' '}
                  </Link>
                )),
            }}
          />
          {failedByCause.length > 0 && (
            <Table
              caption="Failed players by cause"
              rows={failedByCause}
              keyOf={({ cause }) => cause}
              columns={[
                { title: 'Failed because', cell: ({ cause }) => words(cause) },
                { title: 'Players', isNumber: true, cell: ({ players }) => number(players) },
              ]}
            />
          )}
        </Panel>
        <Panel title="What it is">
          <Facts
            of={{
              'Each player': giftText(job.give),
              To: targetText(job.target),
              'In all': state !== 'PLANNED' && totalText(job),
              'At most': playersText(job.limit),
              Reason: reason,
              Id: <Id of={job.jobId} />,
            }}
          />
          {job.message.map(({ language, title, body }) => (
            <div key={language} lang={language}>
              <strong>{title}</strong> <span className="badge">{language}</span>
              <p className={css.message}>{body}</p>
            </div>
          ))}
          {job.image !== null && <p className="muted">Its picture is {job.image}.</p>}
          {job.message.length > 0 && <p className="muted">The message expires after {job.expiresInDays} days.</p>}
        </Panel>
      </div>
      {job.largest.length > 0 && (
        <Panel title="The largest amounts">
          <Table
            caption="The largest amounts"
            rows={job.largest}
            keyOf={({ playerId }) => playerId}
            columns={[
              { title: 'Player', cell: (one) => <Player of={one} /> },
              { title: 'Amount', isNumber: true, cell: ({ amount }) => (amount === null ? '–' : number(amount)) },
            ]}
          />
        </Panel>
      )}
      <Players job={job} />
      <History job={job} />
      {open === 'undo' && <UndoDialog job={job} onClose={close} />}
      {open === 'csv' && <SaveOutcomes job={job} onClose={close} />}
      {open !== undefined && open !== 'undo' && open !== 'csv' && <MoveDialog job={job} name={open} onClose={close} />}
    </Page>
  )
}

const totalText = ({ total, totalXp }: WholeJob): string | false => {
  const parts = [total.length > 0 && assetsText(total), totalXp !== '0' && `${number(totalXp)} xp`]
  return parts.filter((one) => one !== false).join(' and ') || false
}

const Player = ({ of }: { of: { readonly playerId: string; readonly player: { nickname: string | null } | null } }) => (
  <PlayerName of={of.playerId} nickname={of.player?.nickname ?? null} />
)

const OUTCOMES = [
  ['', 'all'],
  ['GRANTED', 'granted'],
  ['FAILED', 'failed'],
] as const

function Players({ job: { jobId, state, undoOf } }: { job: Job }) {
  const environment = useEnvironment()
  const filters = useFilters()
  const outcome = (['GRANTED', 'FAILED'] as const).find((one) => one === filters.value('outcome'))
  const pages = usePages({
    query: jobPlayersQuery,
    variables: { environment, jobId, outcomes: outcome && [outcome] },
    connectionOf: (data) => data.grantJob?.jobPlayers,
  })
  // The players of a job in another state are read again.
  const known = useRef(state)
  const { reload } = pages
  useEffect(() => {
    if (known.current === state) return
    known.current = state
    reload()
  }, [state, reload])
  return (
    <Panel
      title="Players"
      actions={
        <>
          <FilterSelect label="Outcome" name="outcome" filters={filters} options={OUTCOMES} />
          <Button onClick={reload} busy={pages.isLoading}>
            Refresh
          </Button>
        </>
      }
    >
      <PagedTable
        caption="Players of the grant"
        pages={pages}
        keyOf={({ playerId }) => playerId}
        empty={<Empty title={outcome ? `No player ${words(outcome)}` : 'No players yet'} />}
        columns={[
          { title: 'Player', cell: (one) => <Player of={one} /> },
          {
            title: 'Outcome',
            cell: (one) =>
              one.outcome === null ? (
                <span className="muted">waits</span>
              ) : (
                <>
                  <span className={`badge ${one.outcome === 'GRANTED' ? 'good' : 'bad'}`}>
                    {one.outcome === 'GRANTED' && undoOf !== null ? 'taken back' : words(one.outcome)}
                  </span>{' '}
                  {one.cause !== null && words(one.cause)}
                </>
              ),
          },
          {
            title: undoOf === null ? 'Got' : 'Taken back',
            cell: ({ granted, amount }) => assetsText(granted) || (amount === null ? '–' : number(amount)),
          },
          { title: 'When', cell: ({ actedAt }) => (actedAt === null ? '–' : <Ago at={actedAt} />) },
        ]}
      />
    </Panel>
  )
}

/** The rows of the audit log about a job, for admins: others may not read the log. */
function History({ job: { jobId } }: { job: Job }) {
  const denial = useDenial('manage')
  const pages = usePages({
    query: auditLogQuery,
    variables: { target: jobId },
    connectionOf: (data) => data.auditLog,
    additionalTypenames: ['AuditLogEntry'],
    pause: denial !== undefined,
  })
  if (denial !== undefined)
    return (
      <Panel title="Audit log">
        <p className="muted">{denial} Admins see here who did what.</p>
      </Panel>
    )
  return (
    <Panel title="Audit log">
      <PagedTable
        caption="Audit log of the grant"
        pages={pages}
        keyOf={({ id }) => id}
        empty={<Empty title="No entry yet" />}
        columns={[
          { title: 'Time', cell: ({ occurredAt }) => <Ago at={occurredAt} /> },
          { title: 'Who', cell: (one) => <Who {...one} /> },
          {
            title: 'Action',
            cell: ({ id, ...entry }) => <AuditAction href={`~/console/project/audit/${id}`} {...entry} />,
          },
          { title: 'Reason', cell: ({ reason }) => reason ?? '–' },
        ]}
      />
    </Panel>
  )
}

import { useState } from 'react'
import { type TypedDocumentNode, useQuery } from 'urql'
import { Link } from 'wouter'
import type { ResultOf } from '../graphql.ts'
import { useOperator } from '../session/permission.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { faultsOf, sentence, textOf } from '../ui/errors.ts'
import { playersText } from '../ui/players-text.ts'
import { Loading, Notice } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { number } from '../ui/words.ts'
import { jobHref } from './addresses.ts'
import { type Job, jobText, undoRows } from './gift.ts'
import {
  approveJobMutation,
  cancelJobMutation,
  pauseJobMutation,
  previewUndoQuery,
  resumeJobMutation,
  undoJobMutation,
} from './operations.ts'
import { saveOutcomes } from './player-list.ts'

interface Move {
  readonly title: string
  readonly effect: (job: Job) => string
  readonly confirm: string
  readonly tone?: 'danger'
  readonly done: string
  readonly mutation: TypedDocumentNode<
    { readonly result: { readonly auditEntry: { readonly id: string } | null } | null },
    { readonly input: { environment: string; jobId: string; reason: string } }
  >
}

const leftText = ({ players, granted, failed }: Job): string => playersText(players - granted - failed)

export const MOVES = {
  approve: {
    title: 'Approve the grant',
    effect: (job) => `It begins at once: ${jobText(job)} for ${playersText(job.players)}.`,
    confirm: 'Approve',
    done: 'The grant is approved, and runs.',
    mutation: approveJobMutation,
  },
  pause: {
    title: 'Pause the grant',
    effect: (job) => `Nobody gets anything until it is resumed. ${leftText(job)} still wait.`,
    confirm: 'Pause',
    done: 'The grant is paused.',
    mutation: pauseJobMutation,
  },
  resume: {
    title: 'Resume the grant',
    effect: (job) => `It continues for ${leftText(job)}. You are responsible for it from now on.`,
    confirm: 'Resume',
    done: 'The grant continues.',
    mutation: resumeJobMutation,
  },
  cancel: {
    title: 'Cancel the grant',
    effect: (job) =>
      job.state === 'PLANNED'
        ? 'It never begins, and nobody gets anything.'
        : `It ends for good. ${leftText(job)} will get nothing. What ${playersText(job.granted)} got stays theirs.`,
    confirm: 'Cancel the grant',
    tone: 'danger',
    done: 'The grant is cancelled.',
    mutation: cancelJobMutation,
  },
} as const satisfies Readonly<Record<string, Move>>
export type MoveName = keyof typeof MOVES

export function MoveDialog({ job, name, onClose }: { job: Job; name: MoveName; onClose: () => void }) {
  const environment = useEnvironment()
  const [before] = useState(job)
  const { effect, ...move }: Move = MOVES[name]
  return (
    <ChangeDialog {...move} effect={effect(before)} input={{ environment, jobId: before.jobId }} onClose={onClose} />
  )
}

type Undo = ResultOf<typeof previewUndoQuery>['previewGrantUndo']

/** Takes back what a job gave, as far as its players still have it. */
export function UndoDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const environment = useEnvironment()
  const { jobId } = job
  const [{ data, error, fetching }] = useQuery({
    query: previewUndoQuery,
    variables: { environment, jobId },
    requestPolicy: 'network-only',
  })
  const preview = data?.previewGrantUndo
  return (
    <ChangeDialog
      title="Undo the grant"
      tone="danger"
      wide
      effect={
        preview
          ? 'A grant of its own takes it back, player by player. Players with open games see their balances fall.'
          : error
            ? [textOf(error), ...faultsOf(error).map(({ message }) => `The grant ${message}.`)].join(' ')
            : 'Looking at what could be taken back…'
      }
      confirm="Take it back"
      disabled={!preview}
      mutation={undoJobMutation}
      input={{ environment, jobId }}
      isOnce
      done={({ job: undo }) => ({
        done: (
          <>
            The undo is made. <Link href={jobHref(environment, undo.jobId)}>Follow it</Link>
          </>
        ),
      })}
      onClose={onClose}
    >
      {fetching && <Loading what="Counting" />}
      {preview && <UndoPreview of={preview} />}
    </ChangeDialog>
  )
}

const UndoPreview = ({ of }: { of: Undo }) => (
  <>
    <p>
      {playersText(of.players, of.isExact)} got something.
      {of.unclaimedMessages > 0 &&
        ` ${number(of.unclaimedMessages)} unclaimed ${of.unclaimedMessages === 1 ? 'message' : 'messages'} would be cancelled.`}
      {of.premium > 0 && ` Premium could be revoked from ${playersText(of.premium)}, who have claimed no premium tier.`}
    </p>
    {!of.isExact && (
      <Notice tone="warning">There are more players than could be looked at. The sums are of these.</Notice>
    )}
    {of.given.length > 0 && (
      <Table
        caption="What could be taken back"
        rows={undoRows(of)}
        keyOf={({ name }) => name}
        columns={[
          { title: 'What', cell: ({ name }) => name },
          { title: 'Given', isNumber: true, cell: ({ given }) => number(given) },
          { title: 'Can be taken back', isNumber: true, cell: ({ taken }) => number(taken) },
          { title: 'Spent', isNumber: true, cell: ({ spent }) => number(spent) },
        ]}
      />
    )}
  </>
)

/** Saves the players of a job with their outcomes as CSV. */
export function SaveOutcomes({ job, onClose }: { job: Job; onClose: () => void }) {
  const { projectId } = useOperator()
  return (
    <ActionDialog
      title="CSV of the players"
      effect={`Saves ${playersText(job.players)} with their outcomes: id, outcome, cause, and what each got. The audit log names you.`}
      confirm="Save the file"
      run={async (reason) => {
        const problem = await saveOutcomes(projectId, job.jobId, reason)
        return problem === undefined ? { done: 'The file is saved.' } : { refusal: sentence(problem) }
      }}
      onClose={onClose}
    />
  )
}

import { useState } from 'react'
import { useClient, useQuery } from 'urql'
import { MAX_SEGMENT, SEGMENT_NAME } from '../../../src/base/limits.ts'
import type { ResultOf } from '../graphql.ts'
import { filtersText, type PlayerFilter } from '../players/filters.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { SelectField, TextField } from '../ui/form.tsx'
import {
  createSegmentMutation,
  deleteSegmentMutation,
  segmentNamesQuery,
  type segmentsQuery,
  updateSegmentMutation,
} from './operations.ts'

export type Segment = ResultOf<typeof segmentsQuery>['segments'][number]

/** A list without segments is read again after a change, too. */
export const SEGMENTS = { additionalTypenames: ['Segment'] }

const NAME_HINT = `a-z, 0-9, _ and -, up to ${MAX_SEGMENT} characters.`

/** Keeps filters under a new name, or in place of those of a segment. */
export function SaveSegment(props: {
  readonly filter: PlayerFilter
  /** The segment whose filters were opened for a change. */
  readonly replaces?: string | undefined
  readonly onClose: () => void
}) {
  const { filter, onClose } = props
  const environment = useEnvironment()
  const client = useClient()
  const [{ data }] = useQuery({ query: segmentNamesQuery, variables: { environment }, context: SEGMENTS })
  const segments = data?.segments ?? []
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState(props.replaces ?? '')
  const replaced = segments.find((one) => one.name === chosen)
  return (
    <ActionDialog
      title="Save as a segment"
      effect={
        replaced
          ? `${replaced.name} has the players of ${filtersText(replaced.filter) || 'no filter'} now. It gets those of ${filtersText(filter) || 'no filter: all players'}.`
          : `Players of ${filtersText(filter) || 'no filter: all players'}. Players who match later are in the segment, too.`
      }
      confirm="Save"
      disabled={!replaced && !SEGMENT_NAME.test(name)}
      run={async (reason) => {
        if (replaced) {
          const input = { environment, segmentId: replaced.segmentId, filter, reason }
          const { data, error } = await client.mutation(updateSegmentMutation, { input })
          if (!data?.updateSegment) return { error }
          return { done: `${replaced.name} has these players.`, auditEntry: data.updateSegment.auditEntry }
        }
        const { data, error } = await client.mutation(
          createSegmentMutation,
          { input: { environment, name, filter, reason } },
          SEGMENTS,
        )
        if (!data?.createSegment) return { error }
        return { done: `The segment ${name} is saved.`, auditEntry: data.createSegment.auditEntry }
      }}
      onClose={onClose}
    >
      <SelectField
        label="Save as"
        name="segmentId"
        value={replaced?.name ?? ''}
        onChange={setChosen}
        options={[['', 'a new segment'], ...segments.map((one) => one.name)]}
      />
      {!replaced && (
        <TextField
          label="Name"
          name="name"
          hint={NAME_HINT}
          value={name}
          onChange={setName}
          maxLength={MAX_SEGMENT}
          autoComplete="off"
          required
        />
      )}
    </ActionDialog>
  )
}

export function RenameSegment({ segment, onClose }: { segment: Segment; onClose: () => void }) {
  const environment = useEnvironment()
  const client = useClient()
  const [before] = useState(segment)
  const [name, setName] = useState(before.name)
  return (
    <ActionDialog
      title={`Rename ${before.name}`}
      effect="Calls that name the segment must use the new name. Grants that were made before go on."
      confirm="Rename"
      disabled={name === before.name || !SEGMENT_NAME.test(name)}
      run={async (reason) => {
        const input = { environment, segmentId: before.segmentId, name, reason }
        const { data, error } = await client.mutation(updateSegmentMutation, { input })
        if (!data?.updateSegment) return { error }
        return { done: `${before.name} is ${name} now.`, auditEntry: data.updateSegment.auditEntry }
      }}
      onClose={onClose}
    >
      <TextField label="Name" name="name" hint={NAME_HINT} value={name} onChange={setName} maxLength={MAX_SEGMENT} />
    </ActionDialog>
  )
}

export function DeleteSegment({ segment, onClose }: { segment: Segment; onClose: () => void }) {
  const environment = useEnvironment()
  const client = useClient()
  const [{ segmentId, name }] = useState(segment)
  return (
    <ActionDialog
      title={`Delete ${name}`}
      tone="danger"
      effect="The name and its filters are gone. Players stay as they are, and grants that were made for it go on."
      confirm="Delete the segment"
      run={async (reason) => {
        const input = { environment, segmentId, reason }
        const { data, error } = await client.mutation(deleteSegmentMutation, { input }, SEGMENTS)
        if (!data?.deleteSegment) return { error }
        return { done: `${name} is deleted.`, auditEntry: data.deleteSegment.auditEntry }
      }}
      onClose={onClose}
    />
  )
}

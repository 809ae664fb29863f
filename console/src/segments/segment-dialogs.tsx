import { useState } from 'react'
import { useQuery } from 'urql'
import { MAX_SEGMENT, SEGMENT_NAME } from '../../../src/base/limits.ts'
import type { ResultOf } from '../graphql.ts'
import { filtersText, type PlayerFilter } from '../players/filters.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { Fields, useFields } from '../ui/fields.tsx'
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

const NAME = {
  name: 'name',
  label: 'Name',
  hint: `a-z, 0-9, _ and -, up to ${MAX_SEGMENT} characters.`,
  maxLength: MAX_SEGMENT,
  autoComplete: 'off',
  required: true,
} as const

/** Keeps filters under a new name, or in place of those of a segment. */
export function SaveSegment(props: {
  readonly filter: PlayerFilter
  /** The segment whose filters were opened for a change. */
  readonly replaces?: string | undefined
  readonly onClose: () => void
}) {
  const { filter, onClose } = props
  const environment = useEnvironment()
  const [{ data }] = useQuery({ query: segmentNamesQuery, variables: { environment }, context: SEGMENTS })
  const segments = data?.segments ?? []
  const fields = useFields({ name: '', segmentId: props.replaces ?? '' })
  const { name, segmentId } = fields.values
  const replaced = segments.find((one) => one.name === segmentId)
  const dialog = { title: 'Save as a segment', confirm: 'Save', context: SEGMENTS, onClose }
  const children = (
    <Fields
      of={fields}
      list={[
        {
          kind: 'choice',
          name: 'segmentId',
          label: 'Save as',
          options: [['', 'a new segment'], ...segments.map((one) => one.name)],
        },
        !replaced && NAME,
      ]}
    />
  )
  if (replaced)
    return (
      <ChangeDialog
        {...dialog}
        effect={`${replaced.name} has the players of ${filtersText(replaced.filter) || 'no filter'} now. It gets those of ${filtersText(filter) || 'no filter: all players'}.`}
        mutation={updateSegmentMutation}
        input={{ environment, segmentId: replaced.segmentId, filter }}
        done={`${replaced.name} has these players.`}
      >
        {children}
      </ChangeDialog>
    )
  return (
    <ChangeDialog
      {...dialog}
      effect={`Players of ${filtersText(filter) || 'no filter: all players'}. Players who match later are in the segment, too.`}
      disabled={!SEGMENT_NAME.test(name)}
      mutation={createSegmentMutation}
      input={{ environment, name, filter }}
      done={`The segment ${name} is saved.`}
    >
      {children}
    </ChangeDialog>
  )
}

export function RenameSegment({ segment, onClose }: { segment: Segment; onClose: () => void }) {
  const environment = useEnvironment()
  const [before] = useState(segment)
  const fields = useFields({ name: before.name })
  const { name } = fields.values
  return (
    <ChangeDialog
      title={`Rename ${before.name}`}
      effect="Calls that name the segment must use the new name. Grants that were made before go on."
      confirm="Rename"
      disabled={name === before.name || !SEGMENT_NAME.test(name)}
      mutation={updateSegmentMutation}
      input={{ environment, segmentId: before.segmentId, name }}
      done={`${before.name} is ${name} now.`}
      onClose={onClose}
    >
      <Fields of={fields} list={[NAME]} />
    </ChangeDialog>
  )
}

export function DeleteSegment({ segment, onClose }: { segment: Segment; onClose: () => void }) {
  const environment = useEnvironment()
  const [{ segmentId, name }] = useState(segment)
  return (
    <ChangeDialog
      title={`Delete ${name}`}
      tone="danger"
      effect="The name and its filters are gone. Players stay as they are, and grants that were made for it go on."
      confirm="Delete the segment"
      mutation={deleteSegmentMutation}
      input={{ environment, segmentId }}
      context={SEGMENTS}
      done={`${name} is deleted.`}
      onClose={onClose}
    />
  )
}

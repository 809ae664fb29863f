import { out } from '../../declare/answer.ts'
import { operatorChange, payload } from '../../declare/operator-call.ts'
import {
  createSegment,
  createSegmentRequest,
  deleteSegment,
  deleteSegmentRequest,
  updateSegment,
  updateSegmentRequest,
} from './segments.ts'

const answer = payload('SegmentPayload', {
  segment: out.orNull(out.kept('Segment'), 'The segment after the change. Null for one that was deleted.'),
})

export const segmentCalls = [
  operatorChange({
    name: 'createSegment',
    summary: 'Makes a segment. A call that is repeated changes nothing; a name that another segment has is refused.',
    request: createSegmentRequest,
    answer,
    right: 'jobs',
    action: 'segment.create',
    title: 'Make a segment',
    target: 'environment',
    change: createSegment,
  }),
  operatorChange({
    name: 'updateSegment',
    summary: 'Changes the name or the filters of a segment. Grant jobs that were made before stay as they are.',
    request: updateSegmentRequest,
    answer,
    right: 'jobs',
    action: 'segment.update',
    title: 'Change a segment',
    target: 'segmentId',
    change: updateSegment,
  }),
  operatorChange({
    name: 'deleteSegment',
    summary: 'Deletes a segment. Grant jobs that were made for it go on.',
    request: deleteSegmentRequest,
    answer,
    right: 'jobs',
    action: 'segment.delete',
    title: 'Delete a segment',
    target: 'segmentId',
    change: deleteSegment,
  }),
]

import type { Pool } from 'pg'
import { type Fault, invalidRequest, Refusal } from '../../base/errors.ts'
import { type Json, parseJson, print } from '../../base/json.ts'
import { MAX_SEGMENT, MAX_SEGMENTS, SEGMENT_NAME } from '../../base/limits.ts'
import { type InEnvironment, lockEnvironment } from '../../callers/projects.ts'
import { databaseTime, newId } from '../../db/ids.ts'
import type { Transaction } from '../../db/prisma.ts'
import type { Change } from '../../declare/change.ts'
import { environment, reason } from '../../declare/common.ts'
import { described, nested, optional, type RequestOf, refuseFaults, shape, text, uuid } from '../../declare/shape.ts'
import { InputSource } from '../../declare/source.ts'
import { checkFilter, checkPlayerFilter, type filterRequest, type PlayerFilterInput, playerFilter } from './requests.ts'

// Segments: filters of players with a name. Lists, exports and grant jobs take one by its name.

const newName = text(`The name: a-z or 0-9, then a-z, 0-9, _ and -, up to ${MAX_SEGMENT} characters.`, {
  max: MAX_SEGMENT,
  check: (name) =>
    SEGMENT_NAME.test(name) ? undefined : 'must begin with a-z or 0-9, and go on with a-z, 0-9, _ or -',
})
const filter = nested('The filters of its players.', playerFilter, checkPlayerFilter, 'PlayerFilterInput')
const segmentId = uuid("A segment's id.", 'Segment')

export const segmentsRequest = shape({ environment })
export const createSegmentRequest = shape({ environment, name: newName, filter, reason })
export const updateSegmentRequest = shape({
  environment,
  segmentId,
  name: optional(described(newName, 'Another name. Default: the present one.')),
  filter: optional(described(filter, 'Other filters, which replace the present ones. Default: the present ones.')),
  reason,
})
export const deleteSegmentRequest = shape({ environment, segmentId, reason })

type SegmentChange = Change<{ readonly segment: string | null }>

interface Stored {
  readonly id: string
  readonly name: string
  /** JSON text. */
  readonly filter: string
}

/** A filter as JSON: the members that were sent, with times as texts. */
export const filterJson = (filter: PlayerFilterInput): Json =>
  Object.fromEntries(
    Object.entries(filter).flatMap(([name, value]) =>
      value === null ? [] : [[name, value instanceof Date ? value.toISOString() : value]],
    ),
  )

/** A stored filter. */
export function readFilterJson(text: string): PlayerFilterInput {
  const members = Object.entries(parseJson(text) as Record<string, unknown>).map(([name, value]) => {
    const isTime = playerFilter.fields[name as keyof PlayerFilterInput]?.type === 'DateTime'
    return [name, isTime ? new Date(String(value)) : value]
  })
  return playerFilter.gather(new InputSource(Object.fromEntries(members)), [])
}

export async function readSegment(pool: Pool, environmentId: string, name: string, path = 'segment') {
  const { rows } = await pool.query<Stored>(
    'SELECT id, name, filter FROM segments WHERE environment_id = $1 AND name = $2',
    [environmentId, name],
  )
  if (!rows[0]) throw invalidRequest({ path, message: 'is no segment of this environment' })
  return readFilterJson(rows[0].filter)
}

type Filter = RequestOf<typeof filterRequest>

/**
 * A request with the filters of its segment as they are now. A range of the request narrows that of the segment. Refuses
 * any other filter that the segment has, with another value. `placeOf` says where the request has a filter.
 */
export async function withSegment<Asked extends Omit<Filter, 'environment'>>(
  pool: Pool,
  environmentId: string,
  asked: Asked,
  placeOf = (name: string): string => name,
): Promise<Asked> {
  if (asked.segment === null) return asked
  const segment = await readSegment(pool, environmentId, asked.segment)
  const merged: Record<string, unknown> = { ...asked }
  const faults: Fault[] = []
  for (const [path, own] of Object.entries(segment)) {
    const given = merged[path] ?? null
    merged[path] = given === null || own === null ? (given ?? own) : narrower(path, own, given)
    if (merged[path] === undefined) faults.push({ path, message: 'is a filter of the segment already' })
  }
  const refuse = (found: readonly Fault[]) => refuseFaults(found.map((one) => ({ ...one, path: placeOf(one.path) })))
  refuse(faults)
  const whole = merged as unknown as Asked
  refuse(checkFilter({ ...whole, environment: '' }))
  return whole
}

/** The filter that has the players of both; undefined where two values exclude each other. */
function narrower(path: string, one: unknown, other: unknown): unknown {
  const [a, b] = [Number(one), Number(other)]
  if (path.endsWith('From')) return a > b ? one : other
  if (path.endsWith('To')) return a < b ? one : other
  return one === other ? one : undefined
}

/** Makes a segment. One that is there with the same filters stays as it is. */
export const createSegment = (
  { db, client }: Transaction,
  { environmentId, name, filter }: InEnvironment<RequestOf<typeof createSegmentRequest>>,
): Promise<SegmentChange> =>
  change({ db, client }, environmentId, async (segments) => {
    const after = print(filterJson(filter))
    const known = segments.find((one) => one.name === name)
    if (known?.filter === after) return { outcome: { segment: known.id } }
    if (known) throw invalidRequest({ path: 'name', message: 'is the name of a segment with other filters' })
    if (segments.length >= MAX_SEGMENTS)
      throw invalidRequest({ path: 'environment', message: `has ${MAX_SEGMENTS} segments, the most that it can have` })
    const id = newId()
    await db.segment.create({ data: { id, environmentId, name, filter: after } })
    return { outcome: { segment: id }, target: id, before: null, after: { name, filter: filterJson(filter) } }
  })

/** Changes the name or the filters. Grant jobs that were made before keep the filters that they have. */
export const updateSegment = (
  { db, client }: Transaction,
  { environmentId, segmentId, ...sent }: InEnvironment<RequestOf<typeof updateSegmentRequest>>,
): Promise<SegmentChange> =>
  change({ db, client }, environmentId, async (segments) => {
    const before = requireSegment(segments, segmentId)
    const after = {
      name: sent.name ?? before.name,
      filter: sent.filter ? print(filterJson(sent.filter)) : before.filter,
    }
    if (after.name === before.name && after.filter === before.filter) return { outcome: { segment: before.id } }
    if (segments.some(({ id, name }) => name === after.name && id !== before.id))
      throw invalidRequest({ path: 'name', message: 'is the name of another segment' })
    await db.segment.update({ where: { id: before.id }, data: { ...after, updatedAt: databaseTime() } })
    return { outcome: { segment: before.id }, target: before.id, before: shown(before), after: shown(after) }
  })

/** Removes a segment. Grant jobs that were made for it go on. */
export const deleteSegment = (
  { db, client }: Transaction,
  { environmentId, segmentId }: InEnvironment<RequestOf<typeof deleteSegmentRequest>>,
): Promise<SegmentChange> =>
  change({ db, client }, environmentId, async (segments) => {
    const before = requireSegment(segments, segmentId)
    await db.segment.delete({ where: { id: before.id } })
    return { outcome: { segment: null }, target: before.id, before: shown(before), after: null }
  })

const shown = ({ name, filter }: Pick<Stored, 'name' | 'filter'>): Json => ({ name, filter: parseJson(filter) as Json })

function requireSegment(segments: readonly Stored[], id: string): Stored {
  const found = segments.find((one) => one.id === id.toLowerCase())
  if (!found) throw new Refusal('notFound')
  return found
}

/** Changes of one environment's segments run one after another. Other calls that refer to the environment do not wait. */
async function change(
  { db, client }: Transaction,
  environmentId: string,
  apply: (segments: readonly Stored[]) => Promise<SegmentChange>,
): Promise<SegmentChange> {
  await lockEnvironment(client, environmentId)
  return apply(await db.segment.findMany({ where: { environmentId } }))
}

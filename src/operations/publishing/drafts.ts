import { hash } from 'node:crypto'
import type { ClientBase, Pool } from 'pg'
import { isAnother, type Maker, makerOf, nameOf } from '../../audit/people.ts'
import { invalidRequest, Refusal } from '../../base/errors.ts'
import { print, trimJson } from '../../base/json.ts'
import { MAX_DRAFT_COMMENTS, MAX_DRAFTS } from '../../base/limits.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { requireKey } from '../../callers/keys.ts'
import { type InEnvironment, lockEnvironment } from '../../callers/projects.ts'
import { databaseTime, newId } from '../../db/ids.ts'
import type { Transact, Transaction } from '../../db/prisma.ts'
import { inTransaction } from '../../db/transaction.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import type { Change } from '../../declare/change.ts'
import type { RequestOf } from '../../declare/shape.ts'
import type { ScenarioRef } from '../../game/runs/scenarios.ts'
import type {
  approveDraftRequest,
  CreateDraft,
  commentRequest,
  deleteDraftRequest,
  resolveRequest,
  saveDraftRequest,
} from './draft-requests.ts'

// Drafts of scenarios that designers share. A change names the revision that it was made on, so that nobody overwrites
// what another designer has written. Changes of the text are not in the audit log. Approvals and publications are.

export interface Draft {
  readonly id: string
  readonly environmentId: string
  readonly scenarioId: string
  readonly name: string
  readonly baseVersion: number
  readonly revision: number
  readonly createdBy: string
  readonly createdAt: Date
  readonly changedBy: string
  readonly changedAt: Date
  readonly approvedRevision: number | null
  readonly approvedBy: string | null
  readonly approvedAt: Date | null
}

export interface Comment {
  readonly id: string
  readonly revision: number
  readonly path: string | null
  readonly text: string
  readonly createdBy: string
  readonly createdAt: Date
  readonly resolvedBy: string | null
  readonly resolvedAt: Date | null
}

/** A person is editing a draft for this many seconds after it was last seen there. */
export const EDITING_SECONDS = 30

const COLUMNS = `id, environment_id AS "environmentId", scenario_id AS "scenarioId", name,
  base_version AS "baseVersion", revision, created_by AS "createdBy", created_at AS "createdAt",
  changed_by AS "changedBy", changed_at AS "changedAt", approved_revision AS "approvedRevision",
  approved_by AS "approvedBy", approved_at AS "approvedAt"`

interface Stored extends Draft {
  readonly definition: string
  readonly sha256: string
  /** The people who have changed the text since the last approval. */
  readonly authors: readonly Maker[]
}

const hashOf = (definition: string): string => hash('sha256', trimJson(definition))

/** The drafts of an environment, the last changed first. */
export async function listDrafts(
  pool: Pool,
  environmentId: string,
  scenarioId: string | null,
): Promise<readonly Draft[]> {
  const { rows } = await pool.query<Draft>(
    `SELECT ${COLUMNS} FROM scenario_drafts WHERE environment_id = $1 AND ($2::text IS NULL OR scenario_id = $2)
     ORDER BY changed_at DESC, id`,
    [environmentId, scenarioId],
  )
  return rows
}

export async function readDraft(pool: Pool | ClientBase, environmentId: string, id: string): Promise<Draft | null> {
  const { rows } = await pool.query<Draft>(
    `SELECT ${COLUMNS} FROM scenario_drafts WHERE environment_id = $1 AND id = $2`,
    [environmentId, id],
  )
  return rows[0] ?? null
}

/** The text of a draft. Null for one that is no more. */
export async function readDefinition(pool: Pool, id: string): Promise<string | null> {
  const { rows } = await pool.query<{ definition: string }>('SELECT definition FROM scenario_drafts WHERE id = $1', [
    id,
  ])
  return rows[0]?.definition ?? null
}

/** The comments of some drafts, by draft, in the order in which they were made. */
export async function readComments(pool: Pool, draftIds: readonly string[]): Promise<ReadonlyMap<string, Comment[]>> {
  const { rows } = await pool.query<Comment & { draftId: string }>(
    `SELECT draft_id AS "draftId", id, revision, path, text, created_by AS "createdBy", created_at AS "createdAt",
       resolved_by AS "resolvedBy", resolved_at AS "resolvedAt"
     FROM draft_comments WHERE draft_id = ANY ($1) ORDER BY created_at, id`,
    [draftIds],
  )
  const byDraft = new Map<string, Comment[]>(draftIds.map((id) => [id, []]))
  for (const { draftId, ...comment } of rows) byDraft.get(draftId)?.push(comment)
  return byDraft
}

/** The people who have a draft open, by name. */
export async function readEditors(pool: Pool, draftId: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ person: string }>(
    `SELECT person FROM draft_editors WHERE draft_id = $1 AND seen_at > now() - make_interval(secs => $2)
     ORDER BY person`,
    [draftId, EDITING_SECONDS],
  )
  return rows.map(({ person }) => person)
}

/** A draft, with the name of its environment. */
export type ShownDraft = Draft & { readonly environment: string }

type InNamed<T> = T & { readonly environmentId: string }

/** The outcome of a change. */
interface Outcome {
  /** As it is after the change. Null when it was published or deleted. */
  readonly draft: ShownDraft | null
}

/** A draft after a change. */
export async function showDraft(
  client: Pool | ClientBase,
  { environment, environmentId, draftId }: InNamed<{ readonly environment: string; readonly draftId: string }>,
): Promise<Outcome> {
  const draft = await readDraft(client, environmentId, draftId)
  return { draft: draft && { ...draft, environment } }
}

interface Changer extends Transaction {
  readonly caller: PlatformCaller
}

/** Shares a draft. One that is there with the same name and text stays as it is. */
export async function createDraft(
  { db, client, caller }: Changer,
  { environment, environmentId, scenarioId, name, definition, baseVersion }: InNamed<CreateDraft>,
): Promise<Change<Outcome>> {
  // Otherwise several at once could pass the limit.
  await lockEnvironment(client, environmentId)
  const place = { environmentId, scenarioId, name }
  const named = await db.scenarioDraft.findUnique({ where: { environmentId_scenarioId_name: place } })
  if (named?.definition === definition && named.baseVersion === baseVersion)
    return { outcome: await showDraft(client, { environment, environmentId, draftId: named.id }) }
  if (named) throw invalidRequest({ path: 'name', message: 'is the name of another draft of the scenario' })
  if ((await db.scenarioDraft.count({ where: { environmentId } })) >= MAX_DRAFTS)
    throw invalidRequest({ path: 'environment', message: `has ${MAX_DRAFTS} drafts, the most that it can have` })
  const id = newId()
  const maker = nameOf(caller)
  const text = { definition, sha256: hashOf(definition), authors: JSON.stringify([makerOf(caller)]) }
  await db.scenarioDraft.create({
    data: { id, ...place, ...text, baseVersion, createdBy: maker, changedBy: maker },
    select: { id: true },
  })
  const outcome = await showDraft(client, { environment, environmentId, draftId: id })
  return { outcome, target: id, before: null, after: { scenarioId, name } }
}

/** The authors with a caller, who is there once. */
const withAuthor = (authors: readonly Maker[], caller: PlatformCaller): readonly Maker[] => {
  const maker = makerOf(caller)
  const made = print({ ...maker })
  return authors.some((author) => print({ ...author }) === made) ? authors : [...authors, maker]
}

/** Changes a draft that still has the revision that the caller has seen. The same text again changes nothing. */
export function saveDraft(
  transact: Transact,
  caller: PlatformCaller,
  { environmentId, draftId, expectedRevision, ...sent }: InEnvironment<RequestOf<typeof saveDraftRequest>>,
): Promise<void> {
  return transact(async ({ db, client }) => {
    await requireKey(client, caller)
    // Otherwise two drafts could take one name at once.
    if (sent.name !== null) await lockEnvironment(client, environmentId)
    const before = await lockDraft(client, environmentId, draftId)
    const after = {
      definition: sent.definition,
      name: sent.name ?? before.name,
      baseVersion: sent.baseVersion ?? before.baseVersion,
    }
    const isSame =
      after.definition === before.definition && after.name === before.name && after.baseVersion === before.baseVersion
    if (isSame) return
    requireRevision(before, expectedRevision, 'expectedRevision')
    const { scenarioId } = before
    const named = { environmentId, scenarioId, name: after.name, id: { not: draftId } }
    if ((await db.scenarioDraft.count({ where: named })) > 0)
      throw invalidRequest({ path: 'name', message: 'is the name of another draft of the scenario' })
    // A name or a base alone changes nothing that a person would approve.
    const isText = after.definition !== before.definition
    const authors = isText ? withAuthor(before.authors, caller) : before.authors
    const revision = before.revision + (isText || after.baseVersion !== before.baseVersion ? 1 : 0)
    // The same text on another base stays approved.
    const isApproved = !isText && before.approvedRevision === before.revision
    await db.scenarioDraft.update({
      where: { id: draftId },
      data: {
        ...after,
        sha256: hashOf(after.definition),
        revision,
        approvedRevision: isApproved ? revision : before.approvedRevision,
        changedBy: isText ? nameOf(caller) : before.changedBy,
        changedAt: databaseTime(),
        authors: JSON.stringify(authors),
      },
      select: { id: true },
    })
  })
}

export async function deleteDraft(
  { db, client }: Transaction,
  { environmentId, draftId }: InNamed<RequestOf<typeof deleteDraftRequest>>,
): Promise<Change<Outcome>> {
  const { scenarioId, name, revision } = await lockDraft(client, environmentId, draftId)
  await db.scenarioDraft.delete({ where: { id: draftId }, select: { id: true } })
  return { outcome: { draft: null }, target: draftId, before: { scenarioId, name, revision }, after: null }
}

/** Approves a revision, as a person who has changed nothing since the last approval. Approved once, it stays so. */
export async function approveDraft(
  { db, client, caller }: Changer,
  { environment, environmentId, draftId, revision }: InNamed<RequestOf<typeof approveDraftRequest>>,
): Promise<Change<Outcome>> {
  const draft = await lockDraft(client, environmentId, draftId)
  requireRevision(draft, revision, 'revision')
  const place = { environment, environmentId, draftId }
  if (draft.approvedRevision === revision) return { outcome: await showDraft(client, place) }
  if (!draft.authors.every((author) => isAnother(caller, author)))
    throw new Refusal('forbidden', {
      faults: [{ path: 'draftId', message: 'is of a draft that a second person must approve' }],
    })
  const approval = { approvedRevision: revision, approvedBy: nameOf(caller), approvedAt: databaseTime() }
  await db.scenarioDraft.update({
    where: { id: draftId },
    data: { ...approval, authors: '[]' },
    select: { id: true },
  })
  const { scenarioId, name, sha256 } = draft
  const after = { scenarioId, name, revision, sha256 }
  return { outcome: await showDraft(client, place), target: draftId, before: null, after }
}

/** Says that a person has a draft open. */
export async function openDraft(
  pool: Pool,
  caller: PlatformCaller,
  { environmentId, draftId }: { readonly environmentId: string; readonly draftId: string },
): Promise<void> {
  await pool.query('DELETE FROM draft_editors WHERE draft_id = $1 AND seen_at < now() - make_interval(secs => $2)', [
    draftId,
    EDITING_SECONDS,
  ])
  const { rowCount } = await pool.query(
    `INSERT INTO draft_editors (draft_id, person, seen_at)
     SELECT id, $3, now() FROM scenario_drafts WHERE environment_id = $1 AND id = $2
     ON CONFLICT (draft_id, person) DO UPDATE SET seen_at = excluded.seen_at`,
    [environmentId, draftId, nameOf(caller)],
  )
  if (rowCount === 0) throw new Refusal('notFound')
}

/** Adds a comment. With the key of an earlier one it changes nothing. */
export function addComment(
  pool: Pool,
  caller: PlatformCaller,
  { environmentId, draftId, text, path, idempotencyKey }: InEnvironment<RequestOf<typeof commentRequest>>,
): Promise<void> {
  return inTransaction(pool, async (client) => {
    await requireKey(client, caller)
    const { revision } = await lockDraft(client, environmentId, draftId)
    const id = idOf(draftId, nameOf(caller), idempotencyKey)
    const { rows } = await client.query<{ count: number; isKnown: boolean | null }>(
      'SELECT count(*)::int AS count, bool_or(id = $2) AS "isKnown" FROM draft_comments WHERE draft_id = $1',
      [draftId, id],
    )
    if (rows[0]?.isKnown) return
    if ((rows[0]?.count ?? 0) >= MAX_DRAFT_COMMENTS)
      throw invalidRequest({
        path: 'draftId',
        message: `is of a draft with ${MAX_DRAFT_COMMENTS} comments, the most that it can have`,
      })
    await client.query(
      `INSERT INTO draft_comments (id, draft_id, revision, path, text, created_by) VALUES ($1, $2, $3, $4, $5, $6)`,
      [id, draftId, revision, path, text, nameOf(caller)],
    )
  })
}

/** The id of a comment, by which a repeat is known. */
function idOf(...parts: readonly string[]): string {
  const digest = hash('sha256', JSON.stringify(parts))
  return digest.slice(0, 32).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-8$3-8$4-$5')
}

/** Marks a comment as done. One that is done already stays as it is. */
export async function resolveComment(
  pool: Pool,
  caller: PlatformCaller,
  { environmentId, draftId, commentId }: InEnvironment<RequestOf<typeof resolveRequest>>,
): Promise<void> {
  await requireKey(pool, caller)
  const { rowCount } = await pool.query(
    `UPDATE draft_comments c SET resolved_by = coalesce(c.resolved_by, $4), resolved_at = coalesce(c.resolved_at, now())
     FROM scenario_drafts d WHERE d.id = c.draft_id AND d.environment_id = $1 AND d.id = $2 AND c.id = $3`,
    [environmentId, draftId, commentId, nameOf(caller)],
  )
  if (rowCount === 0) throw new Refusal('notFound')
}

async function lockDraft(client: ClientBase, environmentId: string, draftId: string): Promise<Stored> {
  const { rows } = await client.query<Omit<Stored, 'authors'> & { authors: string }>(
    `SELECT ${COLUMNS}, definition, sha256, authors FROM scenario_drafts WHERE environment_id = $1 AND id = $2 FOR UPDATE`,
    [environmentId, draftId],
  )
  if (!rows[0]) throw new Refusal('notFound')
  return { ...rows[0], authors: JSON.parse(rows[0].authors) }
}

function requireRevision({ revision, changedBy }: Draft, seen: number, path: string): void {
  if (revision === seen) return
  const message = `the current revision is ${revision}, by ${changedBy}, not ${seen}`
  throw new Refusal('versionConflict', { faults: [{ path, message }] })
}

export const publishPolicy = answer('What an environment demands of publications.', {
  requiresApproval: out.flag('True when nobody publishes a text that no second person has approved as a draft.'),
})
export type PublishPolicy = AnswerOf<typeof publishPolicy>

export async function readPublishPolicy(pool: Pool | ClientBase, environmentId: string): Promise<PublishPolicy> {
  const { rows } = await pool.query<PublishPolicy>(
    'SELECT requires_approval AS "requiresApproval" FROM publish_policies WHERE environment_id = $1',
    [environmentId],
  )
  return rows[0] ?? { requiresApproval: false }
}

/** Sets what an environment demands of publications. */
export async function setPublishPolicy(
  { db, client }: Transaction,
  environmentId: string,
  { environment, requiresApproval }: PublishPolicy & { readonly environment: string },
): Promise<Change<{ readonly policy: PublishPolicy }>> {
  await lockEnvironment(client, environmentId)
  const before = await readPublishPolicy(client, environmentId)
  const after = { requiresApproval }
  if (before.requiresApproval === requiresApproval) return { outcome: { policy: after } }
  await db.publishPolicy.upsert({ where: { environmentId }, create: { environmentId, ...after }, update: after })
  return { outcome: { policy: after }, target: environment, before: { ...before }, after }
}

/**
 * Refuses a text that no second person has approved, where the environment demands that. A text that the scenario has
 * had before needs no approval again. Returns who approved it; null where nobody had to.
 */
export async function requireApproval(
  client: ClientBase,
  { environmentId, scenarioId }: ScenarioRef,
  text: string,
): Promise<string | null> {
  const { requiresApproval } = await readPublishPolicy(client, environmentId)
  if (!requiresApproval) return null
  const { rows } = await client.query<{ approvedBy: string | null }>(
    `SELECT NULL AS "approvedBy" FROM scenario_versions
     WHERE environment_id = $1 AND scenario_id = $2 AND definition = $3
     UNION ALL
     SELECT approved_by FROM (
       SELECT approved_by FROM scenario_drafts
       WHERE environment_id = $1 AND scenario_id = $2 AND approved_revision = revision AND sha256 = $4 FOR UPDATE
     ) d
     LIMIT 1`,
    [environmentId, scenarioId, text, hashOf(text)],
  )
  if (rows[0]) return rows[0].approvedBy
  const message = 'has no approval of a second person: share it as a draft, and let somebody else approve that'
  throw new Refusal('approvalRequired', { faults: [{ path: 'definition', message }] })
}

/** Removes the drafts that have become a version. */
export async function endDrafts(
  client: ClientBase,
  { environmentId, scenarioId }: ScenarioRef,
  text: string,
): Promise<void> {
  await client.query('DELETE FROM scenario_drafts WHERE environment_id = $1 AND scenario_id = $2 AND sha256 = $3', [
    environmentId,
    scenarioId,
    hashOf(text),
  ])
}

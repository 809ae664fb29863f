import type { Pool } from 'pg'
import { nameOf } from '../../audit/people.ts'
import { invalidRequest, Refusal } from '../../base/errors.ts'
import { MAX_SHARED_VIEWS } from '../../base/limits.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { lockProject } from '../../callers/projects.ts'
import { databaseTime, newId } from '../../db/ids.ts'
import type { Transaction } from '../../db/prisma.ts'
import type { Change } from '../../declare/change.ts'
import type { RequestOf } from '../../declare/shape.ts'
import type { ConsolePage } from './pages.ts'
import type { deleteSharedViewRequest, shareViewRequest } from './requests.ts'

// Views that a team shares: filters of a page of the console with a name. They belong to a project, since the filters
// of a page hold for each of its environments.

interface Changer extends Transaction {
  readonly caller: PlatformCaller
}

interface View {
  readonly page: string
  readonly name: string
  readonly query: string
}

/** Shares a view, or gives the one with its name another query. One that is the same already stays as it is. */
export async function shareView(
  { client, db, caller }: Changer,
  { page, name, query }: RequestOf<typeof shareViewRequest>,
): Promise<Change<{ readonly sharedView: string }>> {
  const { projectId } = caller
  // Otherwise several at once could pass the limit.
  await lockProject(client, projectId)
  const views = await db.sharedView.findMany({ where: { projectId, page } })
  const before = views.find((one) => one.name === name)
  if (before?.query === query) return { outcome: { sharedView: before.id } }
  if (!before && views.length >= MAX_SHARED_VIEWS)
    throw invalidRequest({ path: 'page', message: `has ${MAX_SHARED_VIEWS} shared views, the most that it can have` })
  const id = before?.id ?? newId()
  const data = { query, sharedBy: nameOf(caller) }
  if (before) await db.sharedView.update({ where: { id }, data: { ...data, updatedAt: databaseTime() } })
  else await db.sharedView.create({ data: { id, projectId, page, name, ...data } })
  const after = shown({ page, name, query })
  return { outcome: { sharedView: id }, target: id, before: before ? shown(before) : null, after }
}

/** Deletes a shared view for everyone. A repeat does not find it. */
export async function deleteSharedView(
  { client, db, caller: { projectId } }: Changer,
  { sharedViewId }: RequestOf<typeof deleteSharedViewRequest>,
): Promise<Change<{ readonly sharedView: null }>> {
  await lockProject(client, projectId)
  const view = await db.sharedView.findUnique({ where: { id: sharedViewId, projectId } })
  if (!view) throw new Refusal('notFound')
  await db.sharedView.delete({ where: { id: sharedViewId } })
  return { outcome: { sharedView: null }, target: sharedViewId, before: shown(view), after: null }
}

/** The page of a shared view, which never changes. It decides who may delete the view. */
export async function findPage(pool: Pool, projectId: string, sharedViewId: string): Promise<ConsolePage> {
  const { rows } = await pool.query<{ page: ConsolePage }>(
    'SELECT page FROM shared_views WHERE project_id = $1 AND id = $2',
    [projectId, sharedViewId],
  )
  if (!rows[0]) throw new Refusal('notFound')
  return rows[0].page
}

/** For the audit log. */
const shown = ({ page, name, query }: View) => ({ page, name, query })

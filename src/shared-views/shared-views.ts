import type { ClientBase, Pool } from 'pg'
import { nameOf } from '../audit/people.ts'
import { invalidRequest, Refusal } from '../base/errors.ts'
import { MAX_SHARED_VIEWS } from '../base/limits.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import { newId } from '../db/ids.ts'
import type { Change } from '../declare/change.ts'
import type { RequestOf } from '../declare/shape.ts'
import { lockProject } from '../projects/projects.ts'
import type { ConsolePage } from './pages.ts'
import type { removeSharedViewRequest, shareViewRequest } from './requests.ts'

// Views that a team shares: filters of a page of the console with a name. They belong to a project, since the filters
// of a page hold for each of its environments.

interface View {
  readonly page: ConsolePage
  readonly name: string
  readonly query: string
}

/** Shares a view, or gives the one with its name another query. One that is the same already stays as it is. */
export async function shareView(
  client: ClientBase,
  caller: PlatformCaller,
  { page, name, query }: RequestOf<typeof shareViewRequest>,
): Promise<Change<{ readonly sharedView: string }>> {
  const { projectId } = caller
  // Otherwise several at once could pass the limit.
  await lockProject(client, projectId)
  const { rows: views } = await client.query<View & { id: string }>(
    'SELECT id, page, name, query FROM shared_views WHERE project_id = $1 AND page = $2',
    [projectId, page],
  )
  const before = views.find((one) => one.name === name)
  if (before?.query === query) return { outcome: { sharedView: before.id } }
  if (!before && views.length >= MAX_SHARED_VIEWS)
    throw invalidRequest({ path: 'page', message: `has ${MAX_SHARED_VIEWS} shared views, the most that it can have` })
  const id = before?.id ?? newId()
  await client.query(
    `INSERT INTO shared_views (id, project_id, page, name, query, shared_by) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (project_id, page, name) DO UPDATE SET query = excluded.query, shared_by = excluded.shared_by,
       updated_at = clock_timestamp()`,
    [id, projectId, page, name, query, nameOf(caller)],
  )
  const after = shown({ page, name, query })
  return { outcome: { sharedView: id }, target: id, before: before ? shown(before) : null, after }
}

/** Removes a shared view for everyone. A repeat does not find it. */
export async function removeSharedView(
  client: ClientBase,
  { projectId }: PlatformCaller,
  { sharedViewId }: RequestOf<typeof removeSharedViewRequest>,
): Promise<Change<{ readonly sharedView: null }>> {
  await lockProject(client, projectId)
  const { rows } = await client.query<View>(
    'DELETE FROM shared_views WHERE project_id = $1 AND id = $2 RETURNING page, name, query',
    [projectId, sharedViewId],
  )
  if (!rows[0]) throw new Refusal('notFound')
  return { outcome: { sharedView: null }, target: sharedViewId, before: shown(rows[0]), after: null }
}

/** The page of a shared view, which never changes. It decides who may remove the view. */
export async function findPage(pool: Pool, projectId: string, sharedViewId: string): Promise<ConsolePage> {
  const { rows } = await pool.query<Pick<View, 'page'>>(
    'SELECT page FROM shared_views WHERE project_id = $1 AND id = $2',
    [projectId, sharedViewId],
  )
  if (!rows[0]) throw new Refusal('notFound')
  return rows[0].page
}

/** For the audit log. */
const shown = ({ page, name, query }: View) => ({ page, name, query })

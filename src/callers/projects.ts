import type { ClientBase, Pool } from 'pg'
import { Refusal } from '../base/errors.ts'
import { isSlug, MAX_ENVIRONMENTS, MAX_NAME, MAX_SLUG } from '../base/limits.ts'
import { newId } from '../db/ids.ts'
import type { Transaction } from '../db/prisma.ts'
import { inTransaction } from '../db/transaction.ts'
import type { Change } from '../declare/change.ts'
import { newSlug, reason } from '../declare/common.ts'
import { type RequestOf, shape, text } from '../declare/shape.ts'
import type { PlatformCaller } from './callers.ts'

export interface NewProject {
  readonly projectId: string
  readonly environments: ReadonlyMap<string, string>
}

/** Makes a project with its environments, each with an empty stream. */
export async function createProject(
  pool: Pool,
  { name, environments }: { name: string; environments: readonly string[] },
): Promise<NewProject> {
  const projectId = newId()
  const ids = new Map(environments.map((environment) => [environment, newId()]))
  await inTransaction(pool, async (client) => {
    await client.query('INSERT INTO projects (id, name) VALUES ($1, $2)', [projectId, name])
    for (const [environment, id] of ids) await insertEnvironment(client, { projectId, id, name: environment })
  })
  return { projectId, environments: ids }
}

/** Inserts an environment with an empty stream. */
async function insertEnvironment(
  client: ClientBase,
  { projectId, id, name }: { projectId: string; id: string; name: string },
): Promise<void> {
  await client.query('INSERT INTO environments (id, project_id, name) VALUES ($1, $2, $3)', [id, projectId, name])
  await client.query('INSERT INTO streams (environment_id) VALUES ($1)', [id])
}

export const isProjectName = (name: string): boolean => name !== '' && [...name].length <= MAX_NAME
export const isEnvironmentName = isSlug

export const createEnvironmentRequest = shape({
  name: newSlug(`A name such as \`production\`: a-z, 0-9, _ and -, at most ${MAX_SLUG}.`),
  reason,
})
export const renameProjectRequest = shape({
  name: text(`The new name of the project: 1 to ${MAX_NAME} characters.`, { max: MAX_NAME }),
  reason,
})

/** Makes an environment of the operator's project, with an empty stream. It can be used at once. Names are unique. */
export async function createEnvironment(
  client: ClientBase,
  { projectId }: PlatformCaller,
  { name }: RequestOf<typeof createEnvironmentRequest>,
): Promise<Change<{ readonly environment: string }>> {
  await lockProject(client, projectId)
  const { rows } = await client.query<{ name: string }>('SELECT name FROM environments WHERE project_id = $1', [
    projectId,
  ])
  if (rows.some((row) => row.name === name)) throw new Refusal('environmentExists')
  if (rows.length >= MAX_ENVIRONMENTS) throw new Refusal('tooManyEnvironments')
  const id = newId()
  await insertEnvironment(client, { projectId, id, name })
  return { outcome: { environment: id }, environmentId: id, target: name, before: null, after: { name } }
}

export async function renameProject(
  { db, client }: Transaction,
  { projectId }: PlatformCaller,
  { name }: RequestOf<typeof renameProjectRequest>,
): Promise<Change<{ readonly project: string }>> {
  const before = { name: await lockProject(client, projectId) }
  await db.project.update({ where: { id: projectId }, data: { name } })
  return { outcome: { project: projectId }, target: projectId, before, after: { name } }
}

/** Locks a project, so that its changes run one after another. Returns its name. */
export async function lockProject(client: ClientBase, projectId: string): Promise<string> {
  // References to the project, such as a new key, do not wait.
  const { rows } = await client.query<{ name: string }>('SELECT name FROM projects WHERE id = $1 FOR NO KEY UPDATE', [
    projectId,
  ])
  if (!rows[0]) throw new Refusal('projectNotFound')
  return rows[0].name
}

/** Lets changes of one kind in an environment run one after another. Other calls that refer to it do not wait. */
export async function lockEnvironment(client: ClientBase, environmentId: string): Promise<void> {
  await client.query('SELECT FROM environments WHERE id = $1 FOR NO KEY UPDATE', [environmentId])
}

/** A request whose environment was found by its name. */
export type InEnvironment<T> = Omit<T, 'environment'> & { readonly environmentId: string }

export async function findEnvironment(pool: Pool, projectId: string, name: string): Promise<string> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'environment-by-name',
    text: 'SELECT id FROM environments WHERE project_id = $1 AND name = $2',
    values: [projectId, name],
  })
  if (!rows[0]) throw new Refusal('environmentNotFound')
  return rows[0].id
}

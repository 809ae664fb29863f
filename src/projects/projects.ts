import type { ClientBase, Pool } from 'pg'
import { uuidv7 } from 'uuidv7'
import { ACTIONS } from '../audit/actions.ts'
import { writeAudit } from '../audit/audit-log.ts'
import type { PlatformCaller } from '../auth/callers.ts'
import { inTransaction } from '../db/transaction.ts'
import { Refusal } from '../errors.ts'
import type { Fields } from '../fields.ts'

export interface NewProject {
  readonly projectId: string
  /** Environment ids by name. */
  readonly environments: ReadonlyMap<string, string>
}

/** Makes a project with its environments, each with an empty stream. */
export async function createProject(
  pool: Pool,
  { name, environments }: { name: string; environments: readonly string[] },
): Promise<NewProject> {
  const projectId = uuidv7()
  const ids = new Map(environments.map((environment) => [environment, uuidv7()]))
  await inTransaction(pool, async (client) => {
    await client.query('INSERT INTO projects (id, name) VALUES ($1, $2)', [projectId, name])
    for (const [environment, id] of ids) await insertEnvironment(client, { projectId, id, name: environment })
  })
  return { projectId, environments: ids }
}

/** An environment, with its empty stream. */
async function insertEnvironment(
  client: ClientBase,
  { projectId, id, name }: { projectId: string; id: string; name: string },
): Promise<void> {
  await client.query('INSERT INTO environments (id, project_id, name) VALUES ($1, $2, $3)', [id, projectId, name])
  await client.query('INSERT INTO streams (environment_id) VALUES ($1)', [id])
}

const MAX_PROJECT_NAME = 128
const ENVIRONMENT_NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/

export const isProjectName = (name: string): boolean => name !== '' && [...name].length <= MAX_PROJECT_NAME
export const isEnvironmentName = (name: string): boolean => ENVIRONMENT_NAME.test(name)

/** Lists of them are whole, never in pages. */
export const MAX_ENVIRONMENTS = 100

export const readProjectName = (fields: Fields): string => fields.text('name', { max: MAX_PROJECT_NAME })

export function readEnvironmentName(fields: Fields): string {
  const name = fields.text('name', { max: 32 })
  return name === '' || isEnvironmentName(name)
    ? name
    : fields.fault('name', 'must begin with a-z or 0-9, and go on with a-z, 0-9, _ or -', '')
}

/** Makes an environment of the operator's project, with an empty stream. It can be used at once. Names are unique. */
export function createEnvironment(
  pool: Pool,
  caller: PlatformCaller,
  { name, reason }: { name: string; reason: string },
): Promise<string> {
  return inTransaction(pool, async (client) => {
    const { projectId } = caller
    await lockProject(client, projectId)
    const { rows } = await client.query<{ name: string }>('SELECT name FROM environments WHERE project_id = $1', [
      projectId,
    ])
    if (rows.some((row) => row.name === name)) throw new Refusal('environmentExists')
    if (rows.length >= MAX_ENVIRONMENTS) throw new Refusal('tooManyEnvironments')
    const id = uuidv7()
    await insertEnvironment(client, { projectId, id, name })
    await writeAudit(client, caller, {
      environmentId: id,
      action: ACTIONS.createEnvironment,
      target: name,
      before: null,
      after: { name },
      reason,
    })
    return id
  })
}

/** Gives the operator's project another name. */
export function renameProject(
  pool: Pool,
  caller: PlatformCaller,
  { name, reason }: { name: string; reason: string },
): Promise<void> {
  return inTransaction(pool, async (client) => {
    const { projectId } = caller
    const before = await lockProject(client, projectId)
    await client.query('UPDATE projects SET name = $2 WHERE id = $1', [projectId, name])
    await writeAudit(client, caller, {
      environmentId: null,
      action: ACTIONS.renameProject,
      target: projectId,
      before: { name: before },
      after: { name },
      reason,
    })
  })
}

/** Changes of one project follow each other. Its present name is told. */
async function lockProject(client: ClientBase, projectId: string): Promise<string> {
  // What refers to the project, such as a key that is made, need not wait.
  const { rows } = await client.query<{ name: string }>('SELECT name FROM projects WHERE id = $1 FOR NO KEY UPDATE', [
    projectId,
  ])
  if (!rows[0]) throw new Refusal('projectNotFound')
  return rows[0].name
}

/** The id of a project's environment, by its name. */
export async function findEnvironment(pool: Pool, projectId: string, name: string): Promise<string> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'environment-by-name',
    text: 'SELECT id FROM environments WHERE project_id = $1 AND name = $2',
    values: [projectId, name],
  })
  if (!rows[0]) throw new Refusal('environmentNotFound')
  return rows[0].id
}

import type { Pool } from 'pg'
import { uuidv7 } from 'uuidv7'
import { inTransaction } from '../db/transaction.ts'
import { Refusal } from '../errors.ts'

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
    for (const [environment, id] of ids) {
      await client.query('INSERT INTO environments (id, project_id, name) VALUES ($1, $2, $3)', [
        id,
        projectId,
        environment,
      ])
      await client.query('INSERT INTO streams (environment_id) VALUES ($1)', [id])
    }
  })
  return { projectId, environments: ids }
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

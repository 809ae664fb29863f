import type { ClientBase, Pool } from 'pg'
import { groupBy } from '../base/group-by.ts'
import { kidOf, type SecretContext, type Secrets, tryToOpen } from '../base/secrets.ts'
import { inTransaction } from './transaction.ts'

// Every secret in the database that is sealed with SECRETS_KEYS. A column that is not in this list is lost when a key is
// removed: `test/db/sealed-secrets.test.ts` looks for such columns.

interface SealedColumn {
  readonly table: string
  readonly column: string
  /** The owner, as SQL: what the code that seals the column names. */
  readonly kind: string
  readonly name: string
  readonly replaced?: string
  /** What it is, as SQL. */
  readonly title: string
  readonly where?: string
}

const ofEnvironments: readonly SealedColumn[] = [
  {
    table: 'auth_providers',
    column: 'secret',
    kind: 't.kind',
    name: 't.name',
    title: `CASE t.kind WHEN 'device' THEN 'the key of guests'' ids' WHEN 'custom' THEN 'the secret of the login provider ' || t.name
      ELSE 'the secrets of ' || t.kind END`,
  },
  {
    table: 'auth_providers',
    column: 'client_key',
    kind: "'clientKey'",
    name: 't.name',
    title: "'the client key of the login provider ' || t.name",
  },
  {
    table: 'replaced_secrets',
    column: 'secret',
    kind: 't.kind',
    name: 't.name',
    replaced: 't.id::text',
    title: "'a replaced secret of the login provider ' || t.name",
    where: 't.expires_at > now()',
  },
  {
    table: 'alert_webhooks',
    column: 'url',
    kind: "'alert_webhook.url'",
    name: 't.id::text',
    title: "'the address of the alert webhook ' || t.name",
  },
  {
    table: 'alert_webhooks',
    column: 'secret',
    kind: "'alert_webhook.secret'",
    name: 't.id::text',
    title: "'the secret of the alert webhook ' || t.name",
  },
]

const ofProjects: readonly SealedColumn[] = [
  {
    table: 'single_sign_ons',
    column: 'client_secret',
    kind: "'single_sign_on.client_secret'",
    name: "''",
    title: "'the client secret of single sign-on'",
  },
]

/** Each as `table.column`. */
export const SEALED_COLUMNS = [...ofEnvironments, ...ofProjects].map(({ table, column }) => `${table}.${column}`)

/** $1 selects a project. Null: all. */
const select = ({ table, column, kind, name, replaced, title, where }: SealedColumn, isOfProject: boolean): string =>
  `SELECT '${table}' AS "table", '${column}' AS "column", t.${column} AS sealed, ${title} AS title,
     p.id::text AS "projectId", p.name AS project, ${isOfProject ? "'', ''" : 'e.id::text, e.name'},
     ${kind} AS kind, ${name} AS name, ${replaced ?? 'NULL'} AS replaced
   FROM ${table} t ${isOfProject ? '' : 'JOIN environments e ON e.id = t.environment_id'}
   JOIN projects p ON p.id = ${isOfProject ? 't' : 'e'}.project_id
   WHERE t.${column} IS NOT NULL AND ($1::uuid IS NULL OR p.id = $1) AND ${where ?? 'true'}`

const SELECT = `SELECT * FROM (${[
  ...ofEnvironments.map((one) => select(one, false)),
  ...ofProjects.map((one) => select(one, true)),
].join(' UNION ALL ')}) AS found ("table", "column", sealed, title, "projectId", project, "environmentId", environment,
  kind, name, replaced) ORDER BY "projectId", "environmentId", title`

interface SealedSecret {
  readonly table: string
  readonly column: string
  readonly sealed: string
  readonly title: string
  readonly projectId: string
  readonly project: string
  /** Empty for a secret of the project. */
  readonly environmentId: string
  readonly environment: string
  readonly kind: string
  readonly name: string
  readonly replaced: string | null
}

async function readSealed(database: Pool | ClientBase, projectId: string | null): Promise<SealedSecret[]> {
  return (await database.query<SealedSecret>(SELECT, [projectId])).rows
}

const contextOf = ({ projectId, environmentId, kind, name, replaced }: SealedSecret): SecretContext => ({
  projectId,
  environmentId,
  kind,
  name,
  ...(replaced !== null && { replaced }),
})

const isUnreadable = (secrets: Secrets, one: SealedSecret): boolean =>
  tryToOpen(secrets, one.sealed, contextOf(one)) === undefined

/** Maximum number of secrets that a sentence names. */
const MOST_NAMED = 10

/** One sentence for each key: which one is missing, and what it seals. */
function describe(secrets: Secrets, unreadable: readonly SealedSecret[]): string[] {
  return [...groupBy(unreadable, ({ sealed }) => kidOf(sealed) ?? '')].map(([kid, sealed]) => {
    const named = sealed.slice(0, MOST_NAMED).map(({ title, environment, project }) => {
      const place = environment === '' ? project : `${environment} of ${project}`
      return `${title} (${place})`
    })
    const others = sealed.length - named.length
    const list = `${named.join(', ')}${others > 0 ? ` and ${others} more` : ''}`
    if (kid === '') return `these are not as they were sealed: ${list}`
    return secrets.kids.includes(kid)
      ? `SECRETS_KEYS has another key under the id ${kid} than the one that seals ${list}`
      : `SECRETS_KEYS lacks the key ${kid}, which seals ${list}`
  })
}

/** Sentences about the secrets that cannot be read, of an environment and its project or of all. Empty: all can be. */
export async function unreadableSecrets(
  database: Pool | ClientBase,
  secrets: Secrets,
  of: { readonly projectId: string; readonly environmentId: string } | null = null,
): Promise<string[]> {
  const sealed = await readSealed(database, of?.projectId ?? null)
  const own = sealed.filter(({ environmentId }) => of === null || ['', of.environmentId].includes(environmentId))
  return describe(
    secrets,
    own.filter((one) => isUnreadable(secrets, one)),
  )
}

export interface RotatedSecrets {
  /** The key that everything is sealed with. */
  readonly kid: string
  /** How many secrets were sealed anew. */
  readonly sealed: number
  /** How many were sealed with that key before. */
  readonly kept: number
  /** Sentences about the secrets that cannot be read. They stay as they are. */
  readonly unreadable: readonly string[]
}

/**
 * Seals every secret with the first key. The secrets themselves stay, so nobody notices. Each project is a transaction:
 * after an interruption, the next call continues. The service may run meanwhile.
 */
export async function rotateSecrets(pool: Pool, secrets: Secrets): Promise<RotatedSecrets> {
  const [kid = ''] = secrets.kids
  const unreadable: SealedSecret[] = []
  let [sealed, kept] = [0, 0]
  const { rows: projects } = await pool.query<{ id: string }>('SELECT id FROM projects ORDER BY id')
  for (const { id } of projects) {
    await inTransaction(pool, async (client) => {
      // Those who change secrets lock one of these, and may write back a text that they have read.
      await client.query('SELECT FROM projects WHERE id = $1 FOR NO KEY UPDATE', [id])
      await client.query('SELECT FROM environments WHERE project_id = $1 ORDER BY id FOR NO KEY UPDATE', [id])
      for (const one of await readSealed(client, id)) {
        const context = contextOf(one)
        const plain = tryToOpen(secrets, one.sealed, context)
        if (plain === undefined) unreadable.push(one)
        else if (kidOf(one.sealed) === kid) kept += 1
        else {
          // No two sealed texts are alike.
          const { table, column } = one
          const values = [one.sealed, secrets.seal(plain, context)]
          await client.query(`UPDATE ${table} SET ${column} = $2 WHERE ${column} = $1`, values)
          sealed += 1
        }
      }
    })
  }
  return { kid, sealed, kept, unreadable: describe(secrets, unreadable) }
}

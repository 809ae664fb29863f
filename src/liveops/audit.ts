import type { ClientBase } from 'pg'
import { uuidv7 } from 'uuidv7'
import type { PlatformCaller } from '../auth/callers.ts'
import { type Json, print } from '../json.ts'

/** What an operator changed. Before and after are what operators may see: never a secret. */
export interface AuditEntry {
  readonly environmentId: string | null
  /** What was done, such as `auth_providers.set`. */
  readonly action: string
  /** What it was done to, such as the name of an environment. */
  readonly target: string
  readonly before: Json
  readonly after: Json
}

/** Writes an entry in the transaction of the change that it tells of. */
export async function writeAudit(client: ClientBase, caller: PlatformCaller, entry: AuditEntry): Promise<void> {
  await client.query(
    `INSERT INTO audit_log (project_id, id, environment_id, actor, action, target, before, after)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      caller.projectId,
      uuidv7(),
      entry.environmentId,
      `platform_key:${caller.keyId}`,
      entry.action,
      entry.target,
      print(entry.before),
      print(entry.after),
    ],
  )
}

import type { Pool } from 'pg'
import { Refusal } from '../errors.ts'
import type { Secrets } from './secrets.ts'

/** The provider of a request that names none; its identities are bound as `custom` (spec 2.3). */
export const DEFAULT_PROVIDER = 'default'

const NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/ // spec 2.3, spec 8
const RESERVED: readonly string[] = ['google', 'apple', 'device'] // spec 2.3

/** The rule of a custom provider's name, for whoever broke it. */
export const NAME_RULE = `a provider's name must match ${NAME.source} and not be ${RESERVED.join(', ')}`

export const isProviderName = (name: string): boolean => NAME.test(name) && !RESERVED.includes(name)

export interface CustomProviderRef {
  readonly projectId: string
  readonly environmentId: string
  readonly name: string
}

/** An enabled custom provider, with what calls it. */
export interface CustomProvider {
  /** Names it among all of the service's. */
  readonly key: string
  readonly url: string
  readonly secret: string
}

interface Desk {
  readonly pool: Pool
  readonly secrets: Secrets
  readonly warn: (message: string, detail: unknown) => void
}

/**
 * The custom provider of an environment, read anew for each login: a change counts for the very next one, on every
 * instance. Undefined when it is disabled or not configured.
 */
export async function findCustomProvider(
  { pool, secrets, warn }: Desk,
  ref: CustomProviderRef,
): Promise<CustomProvider | undefined> {
  const { projectId, environmentId, name } = ref
  if (!isProviderName(name)) return undefined
  const { rows } = await pool.query<{ url: string; secret: string }>({
    name: 'custom-provider',
    text: `SELECT url, secret FROM auth_providers
      WHERE environment_id = $1 AND kind = 'custom' AND name = $2 AND enabled`,
    values: [environmentId, name],
  })
  const [found] = rows
  if (!found) return undefined
  try {
    const secret = secrets.open(found.secret, { projectId, environmentId, kind: 'custom', name })
    return { key: `${environmentId}/${name}`, url: found.url, secret }
  } catch (cause) {
    // A fault of the configuration. To the client the provider is one that does not answer.
    warn(`the secret of the provider ${name} could not be opened`, cause)
    throw new Refusal('customAuthUnavailable', { cause })
  }
}

import { Fields } from '../fields.ts'
import type { PlatformHandler } from '../http/route.ts'
import { readSettings } from './settings.ts'

/** GET /platform/v1/projects/{projectId}/auth-providers?environment= (spec 4.3): one environment, or all of them. */
export const getAuthProviders: PlatformHandler = async ({ caller, query, operations }) => {
  const environment = Fields.ofInput({ environment: query.get('environment') }).read((fields) =>
    fields.optionalText('environment', { max: 32 }),
  )
  const environments = await operations.readAuthProviders(caller.projectId, environment)
  return environment === null ? { environments } : (environments[0] ?? null)
}

/** PUT /platform/v1/projects/{projectId}/auth-providers (spec 4.3) */
export const putAuthProviders: PlatformHandler = async ({ caller, body, operations }) =>
  operations.setAuthProviders(caller, readSettings(await body()))

import type { PlatformHandler } from '../http/route.ts'
import type { Json } from '../json.ts'
import { type AuthProvidersView, readAuthProviders } from './auth-providers.ts'
import { authProvidersQuery, readSettings, setAuthProviders } from './settings.ts'

/** GET /platform/v1/projects/{projectId}/auth-providers?environment= (spec 4.3): one environment, or all of them. */
export const getAuthProviders: PlatformHandler = async ({ caller, query, service }) => {
  const { environment } = authProvidersQuery.readInput({ environment: query.get('environment') })
  const views = await readAuthProviders(service.operatorPool, caller.projectId, environment)
  const environments = views.map(toJson)
  return environment === null ? { environments } : (environments[0] ?? null)
}

/** PUT /platform/v1/projects/{projectId}/auth-providers (spec 4.3) */
export const putAuthProviders: PlatformHandler = async ({ caller, body, service }) =>
  toJson((await setAuthProviders(service, caller, readSettings(await body()))).view)

/** The fields of spec 4.3. Only GraphQL has the state of a rotation. */
function toJson({ environment, authProviders }: AuthProvidersView): Json {
  const custom = Object.entries(authProviders.custom).map(([name, { enabled, url, hasSecret, updatedAt }]) => [
    name,
    { enabled, url, hasSecret, updatedAt },
  ])
  return { environment, authProviders: { ...authProviders, custom: Object.fromEntries(custom) } }
}

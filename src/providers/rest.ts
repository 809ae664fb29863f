import type { Fault } from '../errors.ts'
import type { PlatformHandler } from '../http/route.ts'
import type { Json } from '../json.ts'
import { type AuthProvidersView, readAuthProviders } from './auth-providers.ts'
import { authProvidersQuery, readSettings, type SettingsChange, setAuthProviders } from './settings.ts'

/** GET /platform/v1/projects/{projectId}/auth-providers?environment= (spec 4.3): one environment, or all of them. */
export const getAuthProviders: PlatformHandler = async ({ caller, query, service, setHeader }) => {
  const { environment } = authProvidersQuery.readInput({ environment: query.get('environment') })
  const views = await readAuthProviders(service.operatorPool, caller.projectId, environment)
  const [view] = views
  if (environment === null || !view) return { environments: views.map(toJson) }
  setHeader('etag', `"${view.version}"`)
  return toJson(view)
}

/** PUT /platform/v1/projects/{projectId}/auth-providers (spec 4.3) */
export const putAuthProviders: PlatformHandler = async ({ caller, body, headers, service, setHeader }) => {
  const settings = readSettings(await body())
  const faults = [...settings.faults]
  const expected = readExpected(headers['if-match'], faults)
  const { view, notices } = await setAuthProviders(service, caller, { ...settings, faults }, { reason: null, expected })
  setHeader('etag', `"${view.version}"`)
  return { ...toJson(view), ...(notices.length > 0 && { notices: notices.map((notice) => ({ ...notice })) }) }
}

/** The version that `If-Match` requires to be current (RFC 9110, 13.1). The settings of an environment always exist. */
function readExpected(match: string | undefined, faults: Fault[]): SettingsChange['expected'] {
  if (match === undefined || match.trim() === '*') return null
  // A compressing proxy makes the tag weak. A version has one state, so that is equivalent.
  const [, version] = /^(?:W\/)?"([\w-]{1,64})"$/.exec(match.trim()) ?? []
  if (version !== undefined) return { version, path: 'If-Match' }
  faults.push({ path: 'If-Match', message: 'must be the ETag of the settings as they were read, or *' })
  return null
}

/** The fields of spec 4.3. Only GraphQL has the state of a rotation. */
function toJson({ environment, authProviders }: AuthProvidersView): { [name: string]: Json } {
  const custom = Object.entries(authProviders.custom).map(([name, { enabled, url, hasSecret, updatedAt }]) => [
    name,
    { enabled, url, hasSecret, updatedAt },
  ])
  return { environment, authProviders: { ...authProviders, custom: Object.fromEntries(custom) } }
}

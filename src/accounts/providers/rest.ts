import { ACTIONS } from '../../audit/actions.ts'
import type { Fault } from '../../base/errors.ts'
import type { Json } from '../../base/json.ts'
import {
  MAX_BLOCK_BYTES,
  MAX_CUSTOM_PROVIDERS,
  MAX_OIDC_PROVIDERS,
  MAX_PROVIDERS_VERSION,
  SLUG,
} from '../../base/limits.ts'
import { findEnvironment } from '../../callers/projects.ts'
import { answer, eitherOf, memberOf, out } from '../../declare/answer.ts'
import { environment } from '../../declare/common.ts'
import { anyObject, header, operatorParameter, projectId, query } from '../../declare/contract.ts'
import { readIfMatch } from '../../declare/if-match.ts'
import { noticesOf } from '../../declare/notices.ts'
import type { PlatformHandler, PlatformRequest } from '../../declare/route.ts'
import { object, shape } from '../../declare/shape.ts'
import { type AuthProvidersView, customProvider, deviceProvider, readAuthProviders } from './auth-providers.ts'
import { oidcProvider, oidcRequest, platformIssuer } from './issuers.ts'
import { RESERVED_NAMES } from './provider-ref.ts'
import { WITHHELD } from './redaction.ts'
import { type SettingsChange, setAuthProviders } from './settings.ts'
import {
  authProvidersQuery,
  customProviderRequest,
  deviceRequest,
  PROVIDERS,
  readSettings,
} from './settings-request.ts'

const members = {
  environment: out.text('Name of the environment.'),
  authProviders: memberOf(
    answer('Providers by kind.', {
      custom: out.map(customProvider, 'Custom providers, by name.'),
      google: out.orNull(out.object(WITHHELD)),
      apple: out.orNull(out.object(WITHHELD)),
      oidc: out.optional(out.map(oidcProvider, 'Issuers of ID tokens, by name. Absent without any.')),
      device: out.optional(memberOf(deviceProvider)),
    }),
  ),
}
const example = {
  environment: 'production',
  authProviders: {
    custom: {
      default: {
        enabled: true,
        url: 'https://studio.example.com/login',
        hasSecret: true,
        updatedAt: '2026-11-20T09:30:00.000Z',
      },
    },
    google: null,
    apple: null,
  },
}
const authProviders = answer('The login providers of an environment, without secrets.', members, {
  name: 'AuthProviders',
  example,
})
const allAuthProviders = answer('Without an environment.', { environments: out.list(authProviders, 'By name.') })
const changedAuthProviders = answer(
  'The login providers of an environment after a change.',
  {
    ...members,
    notices: noticesOf(
      'Members that no rule knows, members that are repeated, and secrets with white space around them. Absent without any.',
    ),
  },
  {
    name: 'ChangedAuthProviders',
    example: {
      ...example,
      notices: [
        {
          path: 'authProviders.costum',
          message: 'is ignored: no rule knows this member; did you mean custom?',
        },
      ],
    },
  },
)

const block = {
  anyOf: [
    {
      ...anyObject,
      properties: platformIssuer.schema.properties ?? {},
      description: `What sign-in needs. Other members are stored and not used. Up to ${MAX_BLOCK_BYTES} bytes. Null removes the stored block.`,
    },
    { type: 'null' },
  ],
}
const settingsRequest = shape(
  {
    environment,
    authProviders: object(PROVIDERS, {
      properties: {
        custom: {
          anyOf: [
            {
              type: 'object',
              description: 'All custom providers, by name.',
              maxProperties: MAX_CUSTOM_PROVIDERS,
              propertyNames: { pattern: SLUG.source, not: { enum: RESERVED_NAMES } },
              additionalProperties: customProviderRequest.schema,
            },
            { type: 'null' },
          ],
        },
        google: block,
        apple: block,
        oidc: {
          anyOf: [
            {
              type: 'object',
              description: 'All issuers of ID tokens, by name.',
              maxProperties: MAX_OIDC_PROVIDERS,
              propertyNames: { pattern: SLUG.source, not: { enum: RESERVED_NAMES } },
              additionalProperties: oidcRequest.schema,
            },
            { type: 'null' },
          ],
        },
        device: { anyOf: [deviceRequest.schema, { type: 'null' }] },
      },
    }),
  },
  {
    name: 'AuthProvidersRequest',
    example: {
      environment: 'production',
      authProviders: {
        custom: { default: { enabled: true, url: 'https://studio.example.com/login', secret: 'a shared secret' } },
      },
    },
  },
)

const headers = {
  ETag: {
    description: 'Names the state of the settings of one environment. Send it as `If-Match` to change this state only.',
    schema: { type: 'string' },
  },
}

/** One environment, or all of them (contract 4.3). */
export const getAuthProviders: PlatformHandler = {
  contract: {
    id: 'readAuthProviders',
    tag: 'Platform',
    summary: 'Read the login providers of an environment, or of all of them. Secrets are never returned.',
    answer: eitherOf(authProviders, allAuthProviders),
    parameters: [projectId, query('environment', 'The environment. Default: all of them.')],
    headers,
  },
  run: read,
}

export const putAuthProviders: PlatformHandler = {
  contract: {
    id: 'setAuthProviders',
    tag: 'Platform',
    summary: 'Set the login providers of an environment. The next login uses them.',
    body: settingsRequest,
    answer: changedAuthProviders,
    refusals: ['versionConflict'],
    parameters: [
      projectId,
      operatorParameter,
      header('If-Match', 'Refuses with 412 unless the settings with this `ETag` are current; `*` for any.'),
    ],
    headers,
  },
  audited: { action: ACTIONS.setProviders, target: () => 'providers' },
  run: put,
}

async function read({ caller, query, service, setHeader }: PlatformRequest): Promise<Json> {
  const { environment } = authProvidersQuery.readInput({ environment: query.get('environment') })
  const environmentId = environment && (await findEnvironment(service.pool, caller.projectId, environment))
  const views = await readAuthProviders(service.operatorPool, caller.projectId, environmentId)
  const [view] = views
  if (environment === null || !view) return { environments: views.map(toJson) }
  setHeader('etag', `"${view.version}"`)
  return toJson(view)
}

async function put({ caller, body, headers, service, setHeader }: PlatformRequest): Promise<Json> {
  const settings = readSettings(await body())
  const faults = [...settings.faults]
  const expected = readExpected(headers['if-match'], faults)
  const { view, notices } = await setAuthProviders(service, caller, { ...settings, faults }, { reason: null, expected })
  setHeader('etag', `"${view.version}"`)
  return { ...toJson(view), ...(notices.length > 0 && { notices: notices.map((notice) => ({ ...notice })) }) }
}

const VERSION = new RegExp(`^[\\w-]{1,${MAX_PROVIDERS_VERSION}}$`)

/** The version that `If-Match` requires to be current (RFC 9110, 13.1). The settings of an environment always exist. */
function readExpected(match: string | undefined, faults: Fault[]): SettingsChange['expected'] {
  if (match === undefined) return null
  const version = readIfMatch(match, VERSION, faults)
  return version === undefined || version === '*' ? null : { version, path: 'If-Match' }
}

/** The fields of contract 4.3. Only GraphQL has the state of a rotation. */
function toJson({ environment, authProviders }: AuthProvidersView): { [name: string]: Json } {
  const custom = Object.entries(authProviders.custom).map(([name, { replacedSecretsExpireAt: _, ...provider }]) => [
    name,
    provider,
  ])
  return { environment, authProviders: { ...authProviders, custom: Object.fromEntries(custom) } }
}

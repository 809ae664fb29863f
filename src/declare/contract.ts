import type { RefusalKind } from '../base/errors.ts'
import { MAX_ID, MAX_OPERATOR, MAX_REASON } from '../base/limits.ts'
import type { Named } from './answer.ts'
import type { Fields, Schema, Shape } from './shape.ts'

// The words of `openapi.json` about a call, which stand beside the call. `serve/openapi/document.ts` makes the document.

export const TAGS = {
  'Battle pass': 'Xp, levels, tiers and premium, for the calling player.',
  Inbox: 'Messages and what is given with them, for the calling player.',
  Login: "Logins through the studio's webhook, by ID tokens, and of guests. These calls take the SDK key.",
  Player: 'The calling player, with its wallet, inventory and storage.',
  Scenarios: 'Runs of scenarios, for the calling player.',
  'Game servers': "Calls of the game's own servers, which take a server key. Browsers must not call them.",
  Platform: 'Login providers and scenarios, for operators with a platform key.',
  Operators:
    'Queries and changes by operators with a platform key. Each is a query or mutation of GraphQL, too, with the same rights, faults and entries in the audit log.',
  Service: 'The service itself: probes, metrics, keys and schemas. No credential is needed, except where noted.',
  Webhook: 'The endpoint that a studio implements and the service calls.',
}

export interface Contract {
  readonly id: string
  readonly tag: keyof typeof TAGS
  readonly summary: string
  /** The body of the request, where no shape is its whole. */
  readonly body?: Named
  /** The media type of the request. Default: JSON. */
  readonly bodyType?: string
  /** Null for a 204. */
  readonly answer: Named | null
  /** Refusals besides those of every call with the same credentials. */
  readonly refusals?: readonly RefusalKind[]
  readonly parameters?: readonly Schema[]
  readonly headers?: Schema
  /** The answer has an `ETag`, and is not sent to a client that has it. */
  readonly hasTag?: true
  /** Default: JSON. */
  readonly mediaType?: string
}

export interface PublishedCall extends Contract {
  readonly access: 'player' | 'client' | 'link' | 'server' | 'platform'
  /** The body of the request, where a shape is its whole. */
  readonly request?: Shape<Fields>
}

export const RUN_CALL: readonly RefusalKind[] = ['scenarioNotFound', 'nodeNotFound', 'runNotFound', 'runNotActive']

/** The refusals of a call that asks the studio's webhook (contract 7.1). */
export const CUSTOM_AUTH: readonly RefusalKind[] = [
  'customAuthDisabled',
  'customAuthRejected',
  'customAuthInvalidData',
  'playerBanned',
  'playerDeleted',
  'customAuthInvalidResponse',
  'customAuthUnavailable',
]

/** The refusals of every login by an ID token or by the id of a device. */
export const SIGN_IN: readonly RefusalKind[] = ['signInDisabled', 'playerBanned', 'playerDeleted', 'signInUnavailable']

/** Those of a login by an ID token. */
export const ID_TOKEN: readonly RefusalKind[] = [...SIGN_IN, 'idTokenRejected']

const parameter =
  (place: 'query' | 'path' | 'header', isRequired = place === 'path') =>
  (name: string, description: string, schema: Schema = { type: 'string' }): Schema => ({
    in: place,
    name,
    required: isRequired,
    description,
    schema,
  })

export const query = parameter('query')
export const requiredQuery = parameter('query', true)
export const path = parameter('path')
export const header = parameter('header')
export const requiredHeader = parameter('header', true)

export const projectId = path('projectId', 'The project of the platform key.')
export const operatorParameter = header(
  'X-Operator',
  `The person who acts with the key, by name or e-mail address: 1 to ${MAX_OPERATOR} characters, kept in the audit log.`,
)
export const reasonParameter = query('reason', `Why: 1 to ${MAX_REASON} characters, kept in the audit log.`)
export const scenarioParameters = [
  projectId,
  path('scenarioId', `The scenario: 1 to ${MAX_ID} characters.`),
  requiredQuery('environment', 'The environment, such as `production`.'),
]

export const anyObject: Schema = { type: 'object', additionalProperties: true }

import { filterRequest } from '../listing/requests.ts'
import type { Schema } from '../request/shape.ts'
import { VERSION } from '../version.ts'
import {
  CLIENT_CALL,
  CUSTOM_AUTH,
  content,
  contentOf,
  header,
  keyHeader,
  operation,
  operatorParameter,
  PLATFORM_CALL,
  PLAYER_CALL,
  projectId,
  query,
  REQUEST_ID,
  RUN_CALL,
  reasonParameter,
  refusalsOf,
  SETTINGS_TAG,
  scenarioParameters,
  TAGS,
  VERSION_TAG,
  webhookHeader,
} from './operation.ts'
import { answer, anyObject, list, ref, text } from './schema-parts.ts'
import { schemas } from './schemas.ts'

const state = { type: 'string', enum: ['live', 'ready', 'degraded', 'unavailable'] }
const status = answer({ status: state }, 'State.')
const reason = { type: 'string', description: 'Why the instance is not ready, or why writes are refused, in words.' }
const readiness: Schema = {
  ...{ type: 'object', description: 'State.', required: ['status'], additionalProperties: false },
  properties: { status: state, writes: { type: 'string', enum: ['refused'] }, reason },
}

// Tests check every answer against this document, and that it has every route.

/** The published description of the REST surface. */
export const openapi = {
  openapi: '3.1.0',
  info: {
    title: 'Tierway',
    version: VERSION,
    description:
      'Battle passes for live games.\n\n' +
      '- Integers of 64 bits are exact JSON integers in both directions: read them with a parser that keeps them. (The page at `/docs` rounds integers beyond 2^53.)\n' +
      '- A game\'s "no" comes with status 200 in the field `error`; check `success`.\n' +
      '- A request that is refused is `{error, code, requestId}`: match on `code`. A 400 names every fault in `details`, and a 412 the current version.\n' +
      '- After a 503 the outcome is unknown: send the same request again, with the same key.\n' +
      '- Unknown members of a request are ignored, and null counts as absent.\n\n' +
      'The same operations, and more for dashboards, are at `/graphql`; subscriptions, too.',
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'This service.' }],
  tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
  paths: {
    '/sdk/v1/battlepass/progress': {
      post: operation({
        id: 'readProgress',
        tag: 'Battle pass',
        summary: "Read the player's progress on a pass.",
        security: 'playerToken',
        request: 'ProgressRequest',
        response: 'ProgressResponse',
        refusals: [...PLAYER_CALL, 'scenarioNotFound', 'nodeNotFound'],
      }),
    },
    '/sdk/v1/battlepass/xp': {
      post: operation({
        id: 'addXp',
        tag: 'Battle pass',
        summary: 'Add xp to a pass. The run must be active; it need not have entered the node.',
        security: 'playerToken',
        request: 'AddXpRequest',
        response: 'AddXpResponse',
        refusals: [...RUN_CALL, 'seasonClosed', 'xpLimitExceeded', 'balanceLimitExceeded', 'idempotencyKeyReused'],
        parameters: [keyHeader],
      }),
    },
    '/sdk/v1/battlepass/claim': {
      post: operation({
        id: 'claimTier',
        tag: 'Battle pass',
        summary:
          'Claim one tier of one track. Repeated calls grant the tier once. The run must be active; it need not have entered the node. The rewards of a level node replace those of the pass for its tier.',
        security: 'playerToken',
        request: 'ClaimRequest',
        response: 'ClaimResponse',
        refusals: [...RUN_CALL, 'idempotencyKeyReused'],
        parameters: [keyHeader],
      }),
    },
    '/sdk/v1/battlepass/premium': {
      post: operation({
        id: 'purchasePremium',
        tag: 'Battle pass',
        summary: 'Buy premium from the wallet. The run must be active; it need not have entered the node.',
        security: 'playerToken',
        request: 'PremiumRequest',
        response: 'PremiumResponse',
        refusals: RUN_CALL,
        parameters: [keyHeader],
      }),
    },
    '/sdk/v1/authorization/custom': {
      post: operation({
        id: 'loginCustom',
        tag: 'Login',
        summary: "Log in through the studio's webhook.",
        security: 'sdkKey',
        request: 'CustomLoginRequest',
        response: 'TokenPair',
        refusals: [...CLIENT_CALL, ...CUSTOM_AUTH],
      }),
    },
    '/sdk/v1/authorization/custom/link': {
      post: operation({
        id: 'linkCustom',
        tag: 'Login',
        summary: 'Link the subject that the webhook names to the calling player.',
        security: ['sdkKey', 'playerToken'],
        request: 'CustomLinkRequest',
        response: null,
        refusals: [...CLIENT_CALL, 'invalidToken', ...CUSTOM_AUTH, 'identityAlreadyLinked'],
      }),
    },
    '/sdk/v1/authorization/refresh': {
      post: operation({
        id: 'refreshTokens',
        tag: 'Login',
        summary: 'Exchange a refresh token for a new pair. For 10 seconds, the same token gets the same pair.',
        security: 'sdkKey',
        request: 'RefreshRequest',
        response: 'TokenPair',
        refusals: [...CLIENT_CALL, 'invalidToken', 'playerBanned', 'playerDeleted'],
      }),
    },
    '/sdk/v1/authorization/logout': {
      post: operation({
        id: 'logout',
        tag: 'Login',
        summary: 'End the login of a refresh token.',
        security: 'sdkKey',
        request: 'RefreshRequest',
        response: null,
        refusals: CLIENT_CALL,
      }),
    },
    '/sdk/v1/player/get': {
      post: operation({
        id: 'readPlayer',
        tag: 'Player',
        summary: 'Read the calling player, with wallet, inventory and identities.',
        security: 'playerToken',
        request: 'PlayerRequest',
        response: 'Player',
        refusals: PLAYER_CALL,
      }),
    },
    '/sdk/v1/storage/get': {
      post: operation({
        id: 'readStorage',
        tag: 'Player',
        summary: "Read the player's storage.",
        security: 'playerToken',
        request: 'StorageGetRequest',
        response: 'StorageValues',
        refusals: [...PLAYER_CALL, 'storageLimitExceeded'],
      }),
    },
    '/sdk/v1/storage/list': {
      post: operation({
        id: 'listStorage',
        tag: 'Player',
        summary: "List the keys of the player's storage with their sizes, in pages.",
        security: 'playerToken',
        request: 'StorageListRequest',
        response: 'StorageKeys',
        refusals: PLAYER_CALL,
      }),
    },
    '/sdk/v1/storage/set': {
      post: operation({
        id: 'setStorage',
        tag: 'Player',
        summary: "Merge values into the player's storage, all or nothing.",
        security: 'playerToken',
        request: 'StorageSetRequest',
        response: null,
        refusals: [...PLAYER_CALL, 'storageLimitExceeded'],
      }),
    },
    '/sdk/v1/storage/delete': {
      post: operation({
        id: 'deleteStorage',
        tag: 'Player',
        summary: "Remove keys from the player's storage.",
        security: 'playerToken',
        request: 'StorageDeleteRequest',
        response: null,
        refusals: PLAYER_CALL,
      }),
    },
    '/platform/v1/projects/{projectId}/auth-providers': {
      get: operation({
        id: 'readAuthProviders',
        tag: 'Platform',
        summary: 'Read the login providers of an environment, or of all of them. Secrets are never returned.',
        security: 'platformKey',
        response: {
          anyOf: [
            ref('AuthProviders'),
            answer({ environments: list(ref('AuthProviders'), 'By name.') }, 'Without an environment.'),
          ],
        },
        refusals: PLATFORM_CALL,
        parameters: [projectId, query('environment', false, 'The environment. Default: all of them.')],
        headers: { ETag: SETTINGS_TAG },
      }),
      put: operation({
        id: 'setAuthProviders',
        tag: 'Platform',
        summary: 'Set the login providers of an environment. The next login uses them.',
        security: 'platformKey',
        request: 'AuthProvidersRequest',
        response: 'ChangedAuthProviders',
        refusals: [...PLATFORM_CALL, 'versionConflict'],
        parameters: [
          projectId,
          operatorParameter,
          header('If-Match', 'Refuses with 412 unless the settings with this `ETag` are current; `*` for any.'),
        ],
        headers: { ETag: SETTINGS_TAG },
      }),
    },
    '/sdk/v1/scenarios/start': {
      post: operation({
        id: 'startRun',
        tag: 'Scenarios',
        summary:
          'Start a run, or resume the active one. When an edit has removed all active nodes of a run, the run ends as `cancelled` and another one begins.',
        security: 'playerToken',
        request: 'StartRunRequest',
        response: 'StartRunResponse',
        refusals: [...PLAYER_CALL, 'scenarioNotFound', 'balanceLimitExceeded', 'idempotencyKeyReused'],
        parameters: [keyHeader],
      }),
    },
    '/sdk/v1/scenarios/cross': {
      post: operation({
        id: 'crossHandle',
        tag: 'Scenarios',
        summary: 'Cross a handle of an active node that the client runs.',
        security: 'playerToken',
        request: 'CrossRequest',
        response: 'CrossResponse',
        refusals: [...RUN_CALL, 'handleServerOwned', 'nodeNotActive', 'balanceLimitExceeded', 'idempotencyKeyReused'],
        parameters: [keyHeader],
      }),
    },
    '/sdk/v1/scenarios/run': {
      post: operation({
        id: 'readRun',
        tag: 'Scenarios',
        summary: 'Read a run, with its last plan.',
        security: 'playerToken',
        request: 'RunRequest',
        response: 'RunResponse',
        refusals: [...PLAYER_CALL, 'runNotFound', 'scenarioNotFound'],
      }),
    },
    '/platform/v1/projects/{projectId}/players.ndjson': {
      get: operation({
        id: 'exportPlayers',
        tag: 'Platform',
        summary:
          'Export players, the newest first, one JSON object a line. When an export fails midway, the connection is closed before the last chunk.',
        security: 'platformKey',
        response: 'ExportedPlayer',
        mediaType: 'application/x-ndjson',
        refusals: PLATFORM_CALL,
        parameters: [
          projectId,
          ...Object.entries(filterRequest.fields).map(([name, { isRequired, description, schema }]) =>
            query(name, isRequired, description, schema),
          ),
          reasonParameter,
        ],
      }),
    },
    '/platform/v1/projects/{projectId}/scenarios/{scenarioId}': {
      get: operation({
        id: 'readScenario',
        tag: 'Platform',
        summary: 'Read the current version of a scenario, or an older one.',
        security: 'platformKey',
        response: 'PublishedScenario',
        refusals: [...PLATFORM_CALL, 'scenarioNotFound', 'notFound'],
        parameters: [
          ...scenarioParameters,
          query('version', false, 'An older version.', { type: 'integer', format: 'int32', minimum: 1 }),
        ],
        headers: { ETag: VERSION_TAG },
      }),
      put: operation({
        id: 'publishScenario',
        tag: 'Platform',
        summary: 'Publish a definition as the next version.',
        security: 'platformKey',
        request: 'ScenarioDefinition',
        response: 'Publication',
        refusals: [...PLATFORM_CALL, 'versionConflict'],
        parameters: [
          ...scenarioParameters,
          reasonParameter,
          operatorParameter,
          header('If-Match', 'Refuses with 412 unless the version with this `ETag` is current; `*` for any version.'),
          header('If-None-Match', '`*` refuses with 412 unless the scenario has no version yet.'),
        ],
        headers: { ETag: VERSION_TAG },
      }),
    },
    '/.well-known/jwks.json': {
      get: operation({
        id: 'readJwks',
        tag: 'Service',
        summary: 'The public keys of player tokens.',
        security: null,
        response: 'JsonWebKeySet',
        refusals: [],
      }),
    },
    '/openapi.json': {
      get: operation({
        id: 'readOpenapi',
        tag: 'Service',
        summary: 'This document.',
        security: null,
        response: anyObject,
        refusals: [],
      }),
    },
    '/schemas/scenario.json': {
      get: operation({
        id: 'readScenarioSchema',
        tag: 'Service',
        summary: 'The JSON Schema (2020-12) of scenario definitions, for editors and build pipelines.',
        security: null,
        response: anyObject,
        refusals: [],
      }),
    },
    '/schema.graphql': {
      get: {
        operationId: 'readSchema',
        tags: ['Service'],
        summary:
          'The GraphQL schema. Where introspection is off, as in production, it requires a platform key of any role.',
        security: [{}, { platformKey: [] }],
        responses: {
          200: {
            description: 'The schema, in the schema definition language.',
            headers: { 'X-Request-Id': REQUEST_ID },
            content: { 'text/plain': { schema: { type: 'string' } } },
          },
          ...refusalsOf(['invalidToken']),
        },
      },
    },
    '/livez': {
      get: operation({
        id: 'readLiveness',
        tag: 'Service',
        summary: 'Liveness: 200 while the process runs.',
        security: null,
        response: status,
        refusals: [],
      }),
    },
    '/readyz': {
      get: {
        ...operation({
          id: 'readReadiness',
          tag: 'Service',
          summary:
            'Readiness: 200 while the database answers and is migrated. The status is `degraded` while Redis is unreachable. `writes` is `refused` while Postgres refuses writes. `reason` says why it is not ready, or why writes are refused.',
          security: null,
          response: status,
          refusals: [],
        }),
        responses: {
          200: { description: 'Ready.', content: content(readiness) },
          503: { description: 'Not ready.', content: content(readiness) },
        },
      },
    },
    '/metrics': {
      get: {
        operationId: 'readMetrics',
        tags: ['Service'],
        summary:
          'Prometheus metrics, with `METRICS_TOKEN` where it is set. 404 when metrics are off or on a port of their own.',
        security: [{}, { metricsToken: [] }],
        responses: {
          200: { description: 'Metrics.', content: { 'text/plain': { schema: { type: 'string' } } } },
          401: {
            description: '`invalid token`',
            content: content(
              answer(
                { error: text('The error, for people.'), code: text('The error in snake_case, for programs.') },
                'The refusal.',
              ),
            ),
          },
          404: {
            description: '`not found`: metrics are off, or on a port of their own.',
            content: content(ref('Error')),
          },
        },
      },
    },
  },
  webhooks: {
    customLogin: {
      post: {
        operationId: 'answerCustomLogin',
        tags: ['Webhook'],
        summary:
          'Identify a player. Tierway calls it for every login and link, up to three times, with a timeout of three seconds each.',
        description:
          'Answer 200 with the player, or any 4xx to refuse. Tierway tries again after a 5xx, a timeout or a failed connection. Verify `X-Signature` over the bytes of the body as received.',
        security: [],
        parameters: [
          webhookHeader(
            'X-Signature',
            "HMAC-SHA256 of the body's bytes with the provider's secret, in lower-case hex.",
          ),
          webhookHeader('webhook-id', 'Standard Webhooks: names the call; the same with every attempt.'),
          webhookHeader('webhook-timestamp', 'Standard Webhooks: seconds since 1970.'),
          webhookHeader('webhook-signature', 'Standard Webhooks: a signature that covers id and time, too.'),
        ],
        requestBody: { required: true, content: contentOf('WebhookRequest') },
        responses: {
          200: { description: 'The identity of the player.', content: contentOf('WebhookAnswer') },
          '4XX': { description: 'The player is refused. The client receives 401 `custom auth rejected`.' },
          '5XX': {
            description:
              'A temporary failure. After the third attempt, the client receives 503 `custom auth unavailable`.',
          },
        },
      },
    },
  },
  components: {
    schemas,
    securitySchemes: {
      playerToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: "A player's access token." },
      sdkKey: { type: 'apiKey', in: 'header', name: 'X-SDK-Key', description: 'Names a project and an environment.' },
      platformKey: { type: 'http', scheme: 'bearer', description: 'A platform key, `twplat_…`, or an operator token.' },
      metricsToken: { type: 'http', scheme: 'bearer', description: "The configuration's `METRICS_TOKEN`." },
    },
  },
}

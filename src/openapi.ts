import { REFUSALS, type RefusalKind } from './errors.ts'

// The published description of the REST surface. Tests hold every answer against it, and every route to be in it.

type Schema = Record<string, unknown>

const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
const text = (description: string, more: Schema = {}): Schema => ({ type: 'string', description, ...more })
const int32 = (description: string, more: Schema = {}): Schema => ({
  type: 'integer',
  format: 'int32',
  description,
  ...more,
})
const int64 = (description: string, more: Schema = {}): Schema => ({
  type: 'integer',
  format: 'int64',
  description,
  ...more,
})
const flag = (description: string): Schema => ({ type: 'boolean', description })
const list = (items: Schema, description: string): Schema => ({ type: 'array', items, description })
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })

/** An answer: every member is always there, and there is no other. */
const answer = (properties: Record<string, Schema>, description: string): Schema => ({
  type: 'object',
  description,
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

/** A request: unknown members are ignored, and null counts as absent. */
const request = (required: Record<string, Schema>, optional: Record<string, Schema> = {}): Schema => ({
  type: 'object',
  properties: {
    ...required,
    ...Object.fromEntries(Object.entries(optional).map(([name, schema]) => [name, orNull(schema)])),
  },
  required: Object.keys(required),
})

const id = (description: string): Schema => text(description, { minLength: 1, maxLength: 128 })
const place = { scenarioId: id('The scenario.'), nodeId: id('The battle-pass node, or a level node of it.') }
const inRun = { ...place, runId: id("The caller's own active run of the scenario.") }
const key = text('The same key and request is answered alike.', { minLength: 1, maxLength: 255 })
const track = { type: 'string', enum: ['free', 'premium'] }
const anyObject: Schema = { type: 'object', additionalProperties: true }

const CLAIM_ERRORS = [
  'tier not found',
  'season closed',
  'level not reached',
  'premium required',
  'balance limit exceeded',
]
const PURCHASE_ERRORS = [
  'idempotency key reused',
  'premium not available',
  'season closed',
  'premium already owned',
  'insufficient funds',
  'balance limit exceeded',
]

const businessError = (errors: readonly string[]): Schema =>
  orNull({ type: 'string', enum: errors, description: 'Why the game said no. Null on success.' })

const schemas: Record<string, Schema> = {
  ProgressRequest: request(place),
  ProgressResponse: answer(
    {
      level: int32('The current level; 0 if none is reached.'),
      xp: int64('The current xp.'),
      premiumOwned: flag('The premium track is owned.'),
      claimedTiers: list(ref('ClaimedTier'), 'Claimed tiers, by level, the free track first.'),
    },
    'Spec 2.2.',
  ),
  ClaimedTier: answer({ level: int32('The level of the tier.'), track }, 'Spec 2.2.'),
  AddXpRequest: request({
    ...inRun,
    amount: int64('Xp to add. An integer: 1.0, 1e3 and "10" are refused.', { minimum: 1 }),
    source: text('Where the xp comes from.', { maxLength: 64 }),
  }),
  AddXpResponse: answer(
    {
      level: int32('The level after the addition.'),
      xp: int64('The xp after the addition.'),
      leveledUp: flag('A level was gained.'),
      maxLevel: flag('The top level is reached.'),
      plan: orNull(ref('ExecutionPlan')),
    },
    'Spec 2.2.',
  ),
  ClaimRequest: request(
    { ...inRun, track },
    { level: int32('The level of the tier. May be left out on a level node.', { minimum: 0 }) },
  ),
  ClaimResponse: answer(
    {
      success: flag('The tier is claimed, now or before.'),
      alreadyClaimed: flag('It was claimed before.'),
      error: businessError(CLAIM_ERRORS),
      granted: list(ref('Reward'), 'What the tier granted. A repeat answers the original list.'),
    },
    'Spec 2.2.',
  ),
  PremiumRequest: request(inRun, { idempotencyKey: key }),
  PremiumResponse: answer(
    { success: flag('Premium was bought.'), error: businessError(PURCHASE_ERRORS), plan: orNull(ref('ExecutionPlan')) },
    'Spec 2.2.',
  ),
  Reward: answer(
    {
      amount: int64('How much.', { minimum: 1 }),
      currency: { type: ['string', 'null'], description: 'Set for money.' },
      itemId: { type: ['string', 'null'], description: 'Set for items.' },
    },
    'Exactly one of currency and itemId is set.',
  ),
  ExecutionPlan: answer(
    {
      runId: text('The run.'),
      status: { type: 'string', enum: ['active', 'completed'] },
      crossed: list(
        answer({ nodeId: text('The node.'), handle: text('The handle that it crossed.') }, 'A crossing.'),
        'Handles crossed, in order.',
      ),
      entered: list(
        ref('EnteredNode'),
        'Nodes entered, in order. Types that the service does not run are for the client.',
      ),
      granted: list(ref('Reward'), 'What reward nodes granted.'),
    },
    'The continuation of the run that the call caused; null when it crossed nothing.',
  ),
  EnteredNode: answer(
    {
      nodeId: text('The node.'),
      type: text('Its type.'),
      data: { ...anyObject, description: 'Its data, as published.' },
    },
    'A node.',
  ),
  StartRunRequest: request({ scenarioId: id('The scenario.') }),
  StartRunResponse: answer(
    { runId: text('The run.'), resumed: flag('It was active already.'), plan: orNull(ref('ExecutionPlan')) },
    'The active run; on a resume the plan is the last one.',
  ),
  CrossRequest: request({
    ...inRun,
    nodeId: id('An active node that the client runs.'),
    handle: text('The handle to cross.', { minLength: 1, maxLength: 64 }),
  }),
  CrossResponse: answer({ plan: orNull(ref('ExecutionPlan')) }, 'What the crossing caused.'),
  RunRequest: request({ runId: id('The run.') }),
  RunResponse: answer(
    {
      runId: text('The run.'),
      scenarioId: text('Its scenario.'),
      status: { type: 'string', enum: ['active', 'completed', 'cancelled'] },
      active: list(ref('EnteredNode'), 'Nodes entered and not left.'),
      plan: orNull(ref('ExecutionPlan')),
    },
    'The run, with its last plan.',
  ),
  CustomLoginRequest: request(
    { customData: { ...anyObject, description: "Passed on to the studio's webhook, byte for byte." } },
    {
      provider: text('The name of a custom provider; `default` unless given.'),
      nickname: text('What a new player is called unless the webhook says so.', { maxLength: 128 }),
      region: text('Stored with a new player.', { maxLength: 35 }),
      language: text('Stored with a new player.', { maxLength: 35 }),
    },
  ),
  RefreshRequest: request({ refreshToken: text('A refresh token.', { minLength: 1 }) }),
  TokenPair: answer(
    {
      accessToken: text('Valid 24 hours: a JWT, for `Authorization: Bearer`.'),
      refreshToken: text('Valid 7 days, and used up by its first use.'),
    },
    'Spec 4.2.',
  ),
  StorageGetRequest: request({}, { keys: list({ type: 'string' }, 'Keys to read; all of them unless given.') }),
  StorageValues: answer(
    { values: { ...anyObject, description: 'Values by key, byte for byte as they were written.' } },
    'What is stored.',
  ),
  StorageSetRequest: request({
    values: {
      ...anyObject,
      description: 'Values by key; other keys stay. Keys have 1 to 128 characters, values up to 65,536 bytes.',
    },
  }),
  StorageDeleteRequest: request({ keys: list({ type: 'string' }, 'Keys to remove.') }),
  PlayerRequest: request({}),
  Player: answer(
    {
      playerId: text('The player.'),
      nickname: orNull(text('Its name.')),
      avatarUrl: orNull(text('Its picture.')),
      region: orNull(text('From its first login.')),
      language: orNull(text('From its first login.')),
      createdAt: text('When.', { format: 'date-time' }),
      wallet: list(
        answer({ currency: text('A currency.'), balance: int64('How much of it.', { minimum: 0 }) }, 'A balance.'),
        'By currency.',
      ),
      inventory: list(
        answer({ itemId: text('An item.'), amount: int64('How many.', { minimum: 0 }) }, 'An item held.'),
        'By item.',
      ),
      identities: list(
        answer(
          {
            provider: text('`custom`, or `custom:` and the name of another provider.'),
            subject: text("The studio's own id of the player."),
          },
          'An identity.',
        ),
        'By provider and subject.',
      ),
    },
    'The calling player.',
  ),
  AuthProvidersRequest: request({
    environment: text('The environment.', { minLength: 1, maxLength: 32 }),
    authProviders: {
      type: 'object',
      description: 'What is there replaces what is stored; what is absent stays.',
      properties: {
        custom: orNull({
          type: 'object',
          description: 'All custom providers, by name.',
          propertyNames: { pattern: '^[a-z0-9][a-z0-9_-]{0,31}$', not: { enum: ['google', 'apple', 'device'] } },
          additionalProperties: request(
            {
              enabled: flag('The master switch.'),
              url: text('Absolute, http or https, without credentials.', { maxLength: 2048 }),
            },
            { secret: text('Signs requests. The stored one stays unless given.', { minLength: 1, maxLength: 512 }) },
          ),
        }),
        google: orNull(anyObject),
        apple: orNull(anyObject),
      },
    },
  }),
  AuthProviders: answer(
    {
      environment: text('The environment.'),
      authProviders: answer(
        {
          custom: {
            type: 'object',
            description: 'Custom providers, by name.',
            additionalProperties: answer(
              {
                enabled: flag('The master switch.'),
                url: text('What is called.'),
                hasSecret: flag('A secret is stored. It never comes back.'),
                updatedAt: text('When it last changed.', { format: 'date-time' }),
              },
              'Spec 2.3.',
            ),
          },
          google: orNull({ ...anyObject, description: 'As given, without what is named like a secret or a key.' }),
          apple: orNull({ ...anyObject, description: 'As given, without what is named like a secret or a key.' }),
        },
        'Providers by kind.',
      ),
    },
    'Spec 4.3.',
  ),
  ScenarioDefinition: {
    type: 'object',
    description:
      'A graph of nodes. It is validated as a whole when it is published; every fault is named at once. The whole schema, with what each type of node takes, is /schemas/scenario.json.',
    required: ['name', 'start', 'nodes', 'edges'],
    properties: {
      name: text('Its name.', { minLength: 1, maxLength: 128 }),
      start: id('The node where runs begin.'),
      nodes: list(
        {
          type: 'object',
          required: ['id', 'type'],
          properties: {
            id: id('Unique.'),
            type: text('`start`, `battle-pass`, `battle-pass-level`, `reward`, or a type of the client.'),
            data: anyObject,
          },
        },
        '1 to 1000 nodes.',
      ),
      edges: list(
        {
          type: 'object',
          required: ['from', 'handle', 'to'],
          properties: {
            from: id('A node.'),
            handle: text('A handle that it crosses.'),
            to: id('The node that this leads to.'),
          },
        },
        'Up to 10,000 edges.',
      ),
    },
  },
  PublishedScenario: answer(
    {
      environment: text('The environment.'),
      scenarioId: text('The scenario.'),
      version: int32('1 for the first publication.', { minimum: 1 }),
      definition: { ...anyObject, description: 'The definition, byte for byte as it was published.' },
      publishedAt: text('When.', { format: 'date-time' }),
    },
    'A published version.',
  ),
  Error: {
    type: 'object',
    required: ['error', 'code', 'requestId'],
    additionalProperties: false,
    properties: {
      error: text('What is wrong.'),
      code: text('The same in snake_case, to match on.'),
      requestId: text('Also the header X-Request-Id.'),
      details: list(
        answer({ path: text('Where, such as `amount`.'), message: text('What is wrong there.') }, 'A fault.'),
        'Every fault of a 400.',
      ),
    },
  },
}

type Security = 'playerToken' | 'platformKey' | 'sdkKey' | null

interface Operation {
  readonly id: string
  readonly summary: string
  /** Both are needed where there are two. */
  readonly security: Security | readonly NonNullable<Security>[]
  readonly request?: string
  /** Null for a 204. */
  readonly response: string | Schema | null
  readonly refusals: readonly RefusalKind[]
  readonly parameters?: readonly Schema[]
}

const EVERY_CALL: readonly RefusalKind[] = [
  'invalidRequest',
  'invalidToken',
  'payloadTooLarge',
  'internalError',
  'unavailable',
]
const PLAYER_CALL: readonly RefusalKind[] = [...EVERY_CALL, 'playerBanned', 'playerDeleted']
const RUN_CALL: readonly RefusalKind[] = [
  ...PLAYER_CALL,
  'scenarioNotFound',
  'nodeNotFound',
  'runNotFound',
  'runNotActive',
]
const PLATFORM_CALL: readonly RefusalKind[] = [...EVERY_CALL, 'forbidden', 'environmentNotFound']

const CLIENT_CALL: readonly RefusalKind[] = [...EVERY_CALL.filter((kind) => kind !== 'invalidToken'), 'invalidSdkKey']
/** Spec 7.1. */
const CUSTOM_AUTH: readonly RefusalKind[] = [
  'customAuthDisabled',
  'customAuthRejected',
  'customAuthInvalidData',
  'playerBanned',
  'playerDeleted',
  'customAuthInvalidResponse',
  'customAuthUnavailable',
]

const query = (name: string, required: boolean, schema: Schema): Schema => ({ in: 'query', name, required, schema })
const path = (name: string): Schema => ({ in: 'path', name, required: true, schema: { type: 'string' } })
const keyHeader: Schema = {
  in: 'header',
  name: 'Idempotency-Key',
  required: false,
  schema: key,
  description: 'The same key and request is answered alike for 7 days.',
}
const scenarioParameters = [path('projectId'), path('scenarioId'), query('environment', true, { type: 'string' })]

function operation({
  id: operationId,
  summary,
  security,
  request: body,
  response,
  refusals,
  parameters = [],
}: Operation): Schema {
  const byStatus = new Map<number, string[]>()
  for (const kind of refusals) {
    const [status, words] = REFUSALS[kind]
    byStatus.set(status, [...(byStatus.get(status) ?? []), `\`${words}\``])
  }
  const answers = [...byStatus].map(([status, words]) => [
    status,
    { description: words.join(', '), content: content(ref('Error')) },
  ])
  return {
    operationId,
    summary,
    security: security === null ? [] : [Object.fromEntries([security].flat().map((scheme) => [scheme, []]))],
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: { required: true, content: content(ref(body)) } }),
    responses: {
      ...(response === null
        ? { 204: { description: 'Done.' } }
        : { 200: { description: 'Done.', content: content(typeof response === 'string' ? ref(response) : response) } }),
      ...Object.fromEntries(answers),
    },
  }
}

const content = (schema: Schema): Schema => ({ 'application/json': { schema } })

const status = answer({ status: text('`live`, `ready` or `unavailable`.') }, 'State.')

export const openapi = {
  openapi: '3.1.0',
  info: {
    title: 'Tierway',
    version: '0.1.0',
    description:
      'Battle passes for live games. Integers of 64 bits are exact JSON integers in both directions: read them with a parser that keeps them. Business errors come with status 200 in the field `error`; check `success`.',
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/' }],
  paths: {
    '/sdk/v1/battlepass/progress': {
      post: operation({
        id: 'readProgress',
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
        summary: 'Add xp to a pass.',
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
        summary: 'Claim one tier of one track. It is granted once, however often it is sent.',
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
        summary: 'Buy premium from the wallet.',
        security: 'playerToken',
        request: 'PremiumRequest',
        response: 'PremiumResponse',
        refusals: RUN_CALL,
      }),
    },
    '/sdk/v1/authorization/custom': {
      post: operation({
        id: 'loginCustom',
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
        summary: 'Attach the subject that the webhook names to the calling player.',
        security: ['sdkKey', 'playerToken'],
        request: 'CustomLoginRequest',
        response: null,
        refusals: [...CLIENT_CALL, 'invalidToken', ...CUSTOM_AUTH, 'identityAlreadyLinked'],
      }),
    },
    '/sdk/v1/authorization/refresh': {
      post: operation({
        id: 'refreshTokens',
        summary: 'Exchange a refresh token for a new pair. Inside 10 seconds the same token answers the same pair.',
        security: 'sdkKey',
        request: 'RefreshRequest',
        response: 'TokenPair',
        refusals: [...CLIENT_CALL, 'invalidToken', 'playerBanned', 'playerDeleted'],
      }),
    },
    '/sdk/v1/authorization/logout': {
      post: operation({
        id: 'logout',
        summary: 'End the login that a refresh token came from.',
        security: 'sdkKey',
        request: 'RefreshRequest',
        response: null,
        refusals: CLIENT_CALL,
      }),
    },
    '/sdk/v1/player/get': {
      post: operation({
        id: 'readPlayer',
        summary: 'Read the calling player, with what it holds.',
        security: 'playerToken',
        request: 'PlayerRequest',
        response: 'Player',
        refusals: PLAYER_CALL,
      }),
    },
    '/sdk/v1/storage/get': {
      post: operation({
        id: 'readStorage',
        summary: "Read the player's storage.",
        security: 'playerToken',
        request: 'StorageGetRequest',
        response: 'StorageValues',
        refusals: [...PLAYER_CALL, 'storageLimitExceeded'],
      }),
    },
    '/sdk/v1/storage/set': {
      post: operation({
        id: 'setStorage',
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
        summary: 'Read the login providers of an environment, or of all of them. Secrets never come back.',
        security: 'platformKey',
        response: {
          anyOf: [
            ref('AuthProviders'),
            answer({ environments: list(ref('AuthProviders'), 'By name.') }, 'Without an environment.'),
          ],
        },
        refusals: PLATFORM_CALL,
        parameters: [path('projectId'), query('environment', false, { type: 'string' })],
      }),
      put: operation({
        id: 'setAuthProviders',
        summary: 'Set the login providers of an environment. It counts for the very next login.',
        security: 'platformKey',
        request: 'AuthProvidersRequest',
        response: 'AuthProviders',
        refusals: PLATFORM_CALL,
        parameters: [path('projectId')],
      }),
    },
    '/sdk/v1/scenarios/start': {
      post: operation({
        id: 'startRun',
        summary: 'Start a run, or resume the active one.',
        security: 'playerToken',
        request: 'StartRunRequest',
        response: 'StartRunResponse',
        refusals: [...PLAYER_CALL, 'scenarioNotFound', 'balanceLimitExceeded'],
      }),
    },
    '/sdk/v1/scenarios/cross': {
      post: operation({
        id: 'crossHandle',
        summary: 'Cross a handle of an active node that the client runs.',
        security: 'playerToken',
        request: 'CrossRequest',
        response: 'CrossResponse',
        refusals: [...RUN_CALL, 'handleServerOwned', 'nodeNotActive', 'balanceLimitExceeded'],
      }),
    },
    '/sdk/v1/scenarios/run': {
      post: operation({
        id: 'readRun',
        summary: 'Read a run, with its last plan.',
        security: 'playerToken',
        request: 'RunRequest',
        response: 'RunResponse',
        refusals: [...PLAYER_CALL, 'runNotFound', 'scenarioNotFound'],
      }),
    },
    '/platform/v1/projects/{projectId}/scenarios/{scenarioId}': {
      get: operation({
        id: 'readScenario',
        summary: 'Read the current version of a scenario, or an older one.',
        security: 'platformKey',
        response: 'PublishedScenario',
        refusals: [...PLATFORM_CALL, 'scenarioNotFound', 'notFound'],
        parameters: [...scenarioParameters, query('version', false, int32('An older version.', { minimum: 1 }))],
      }),
      put: operation({
        id: 'publishScenario',
        summary: 'Publish a definition as the next version.',
        security: 'platformKey',
        request: 'ScenarioDefinition',
        response: 'PublishedScenario',
        refusals: PLATFORM_CALL,
        parameters: scenarioParameters,
      }),
    },
    '/.well-known/jwks.json': {
      get: operation({
        id: 'readJwks',
        summary: 'The public keys of player tokens.',
        security: null,
        response: anyObject,
        refusals: [],
      }),
    },
    '/openapi.json': {
      get: operation({
        id: 'readOpenapi',
        summary: 'This document.',
        security: null,
        response: anyObject,
        refusals: [],
      }),
    },
    '/schemas/scenario.json': {
      get: operation({
        id: 'readScenarioSchema',
        summary: 'The JSON Schema (2020-12) of scenario definitions, for editors and build pipelines.',
        security: null,
        response: anyObject,
        refusals: [],
      }),
    },
    '/livez': {
      get: operation({
        id: 'readLiveness',
        summary: 'Whether the process runs.',
        security: null,
        response: status,
        refusals: [],
      }),
    },
    '/readyz': {
      get: {
        ...operation({
          id: 'readReadiness',
          summary: 'Whether the database is migrated and answers.',
          security: null,
          response: status,
          refusals: [],
        }),
        responses: {
          200: { description: 'Ready.', content: content(status) },
          503: { description: 'Not ready.', content: content(status) },
        },
      },
    },
    '/metrics': {
      get: {
        operationId: 'readMetrics',
        summary: 'Prometheus metrics.',
        security: [],
        responses: { 200: { description: 'Metrics.', content: { 'text/plain': { schema: { type: 'string' } } } } },
      },
    },
  },
  components: {
    schemas,
    securitySchemes: {
      playerToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: "A player's access token." },
      sdkKey: { type: 'apiKey', in: 'header', name: 'X-SDK-Key', description: 'Names a project and an environment.' },
      platformKey: { type: 'http', scheme: 'bearer', description: 'A platform key, `twplat_…`.' },
    },
  },
}

import { linkCustomRequest, loginCustomRequest, refreshRequest } from '../auth/requests.ts'
import { webhookAnswer } from '../auth/webhook-answer.ts'
import { addXpRequest } from '../battlepass/add-xp.ts'
import { claimTierRequest } from '../battlepass/claim-tier.ts'
import { CLAIM_ERRORS, PURCHASE_ERRORS } from '../battlepass/decide.ts'
import { purchasePremiumRequest } from '../battlepass/purchase-premium.ts'
import { progressRequest } from '../battlepass/read-progress.ts'
import { REFUSALS, Refusal, type RefusalKind } from '../errors.ts'
import type { Json } from '../json.ts'
import { filterRequest } from '../listing/requests.ts'
import { STATUSES } from '../players/player-status.ts'
import {
  playerRequest,
  storageDeleteRequest,
  storageGetRequest,
  storageListRequest,
  storageSetRequest,
} from '../players/requests.ts'
import { RESERVED_NAMES } from '../providers/custom-provider.ts'
import { WITHHELD } from '../providers/redaction.ts'
import { customProviderRequest, MAX_BLOCK_BYTES } from '../providers/settings.ts'
import { environment, requiredKey } from '../request/common.ts'
import { MAX_CUSTOM_PROVIDERS, MAX_EDGES, MAX_ID, MAX_NAME, MAX_NODES, SLUG } from '../request/limits.ts'
import { object, type Schema, shape } from '../request/shape.ts'
import { crossHandleRequest } from '../scenario/cross-handle.ts'
import { TRACKS } from '../scenario/definition.ts'
import { runRequest } from '../scenario/read-run.ts'
import { RUN_CAUSES } from '../scenario/runs.ts'
import { startRunRequest } from '../scenario/start-run.ts'

// The published description of the REST surface. Tests check every answer against it, and that it has every route.

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

/** An answer: every member is always present, and there are no others. */
const answer = (properties: Record<string, Schema>, description: string): Schema => ({
  type: 'object',
  description,
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

const id = (description: string): Schema => text(description, { minLength: 1, maxLength: MAX_ID })
const track = { type: 'string', enum: TRACKS }
const anyObject: Schema = { type: 'object', additionalProperties: true }

const businessError = (errors: readonly string[]): Schema =>
  orNull({ type: 'string', enum: errors, description: 'Why the game said no. Null on success.' })

const schemas: Record<string, Schema> = {
  ExportedPlayer: {
    type: 'object',
    description:
      'A line of an export of players. The last three are there where a pass is named, null before it is begun.',
    properties: {
      playerId: text("The player's id."),
      status: { type: 'string', enum: STATUSES },
      nickname: orNull(text('What it is called.')),
      avatarUrl: orNull(text('The address of its picture.')),
      region: orNull(text('Where it plays.')),
      language: orNull(text('In which language.')),
      createdAt: text('When it was created, in UTC.', { format: 'date-time' }),
      lastLoginAt: orNull(text('When it logged in last, in UTC.', { format: 'date-time' })),
      identities: list(
        answer(
          { provider: text('`custom`, or `custom:` and a name.'), subject: text("The studio's id.") },
          'An identity.',
        ),
        'By what it logs in.',
      ),
      level: orNull(int32('Its level on the pass.')),
      xp: orNull(int64('Its xp on the pass.')),
      premiumOwned: orNull(flag('It has premium on the pass.')),
    },
    required: [
      'playerId',
      'status',
      'nickname',
      'avatarUrl',
      'region',
      'language',
      'createdAt',
      'lastLoginAt',
      'identities',
    ],
    additionalProperties: false,
  },
  ProgressRequest: progressRequest.schema,
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
  AddXpRequest: addXpRequest.schema,
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
  ClaimRequest: claimTierRequest.schema,
  ClaimResponse: answer(
    {
      success: flag('The tier is claimed, now or before.'),
      alreadyClaimed: flag('It was claimed before.'),
      error: businessError(CLAIM_ERRORS),
      granted: list(ref('Reward'), 'What the tier granted. A repeat answers the original list.'),
    },
    'Spec 2.2.',
  ),
  PremiumRequest: purchasePremiumRequest.schema,
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
  StartRunRequest: startRunRequest.schema,
  StartRunResponse: answer(
    { runId: text('The run.'), resumed: flag('It was active already.'), plan: orNull(ref('ExecutionPlan')) },
    'The active run; on a resume the plan is the last one.',
  ),
  CrossRequest: crossHandleRequest.schema,
  CrossResponse: answer({ plan: orNull(ref('ExecutionPlan')) }, 'What the crossing caused.'),
  RunRequest: runRequest.schema,
  RunResponse: answer(
    {
      runId: text('The run.'),
      scenarioId: text('Its scenario.'),
      status: { type: 'string', enum: ['active', 'completed', 'cancelled'] },
      active: list(ref('EnteredNode'), 'Nodes entered and not left.'),
      plan: orNull(ref('ExecutionPlan')),
      cause: {
        type: ['string', 'null'],
        enum: [...RUN_CAUSES, null],
        description:
          'Why the run was cancelled. Null for any other run, and for one that was cancelled before causes were recorded.',
      },
    },
    'The run, with its last plan.',
  ),
  CustomLoginRequest: loginCustomRequest.schema,
  CustomLinkRequest: linkCustomRequest.schema,
  RefreshRequest: refreshRequest.schema,
  TokenPair: answer(
    {
      accessToken: text(
        'A JWT for `Authorization: Bearer`. Valid 24 hours, or until two seconds after its login has ended.',
      ),
      refreshToken: text('Valid 7 days, and used up by its first use.'),
    },
    'Spec 4.2.',
  ),
  StorageGetRequest: storageGetRequest.schema,
  StorageValues: answer(
    { values: { ...anyObject, description: 'Values by key, byte for byte as they were written.' } },
    'What is stored.',
  ),
  StorageListRequest: storageListRequest.schema,
  StorageKeys: answer(
    {
      keys: list(
        answer(
          { key: text('A key.'), bytes: int32('The size of its value in UTF-8.', { minimum: 1 }) },
          'A key that is stored.',
        ),
        'Keys in the order of their bytes.',
      ),
      next: orNull(text('What to give as `after` for the keys that follow. Null when there are none.')),
    },
    'A part of the keys.',
  ),
  StorageSetRequest: storageSetRequest.schema,
  StorageDeleteRequest: storageDeleteRequest.schema,
  PlayerRequest: playerRequest.schema,
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
  AuthProvidersRequest: shape({
    environment,
    authProviders: object(
      'What is there replaces what is stored; what is absent stays, and so does `custom` if it is null.',
      {
        properties: {
          custom: orNull({
            type: 'object',
            description: 'All custom providers, by name.',
            maxProperties: MAX_CUSTOM_PROVIDERS,
            propertyNames: { pattern: SLUG.source, not: { enum: RESERVED_NAMES } },
            additionalProperties: customProviderRequest.schema,
          }),
          google: orNull({ ...anyObject, description: `Up to ${MAX_BLOCK_BYTES} bytes. Null removes it.` }),
          apple: orNull({ ...anyObject, description: `Up to ${MAX_BLOCK_BYTES} bytes. Null removes it.` }),
        },
      },
    ),
  }).schema,
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
                hasSecret: flag('True when a secret is stored. The secret itself is never returned.'),
                updatedAt: text('When it last changed.', { format: 'date-time' }),
              },
              'Spec 2.3.',
            ),
          },
          google: orNull({ ...anyObject, description: WITHHELD }),
          apple: orNull({ ...anyObject, description: WITHHELD }),
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
      name: text('Its name.', { minLength: 1, maxLength: MAX_NAME }),
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
        `1 to ${MAX_NODES} nodes.`,
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
        `Up to ${MAX_EDGES} edges.`,
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
  WebhookRequest: answer(
    {
      customData: { ...anyObject, description: 'What the game client said: the very bytes. It is not to be trusted.' },
    },
    'The body is exactly this object.',
  ),
  WebhookAnswer: { ...webhookAnswer.schema, description: 'Who the player is. Other members are ignored.' },
  JsonWebKeySet: answer(
    {
      keys: list(
        answer(
          {
            kty: text('`OKP`.'),
            crv: text('`Ed25519`.'),
            kid: text('Named in the header of a token.'),
            x: text('The public key.'),
            alg: text('`EdDSA`.'),
            use: text('`sig`.'),
          },
          'A public key.',
        ),
        'All that tokens in use are signed with.',
      ),
    },
    'RFC 7517.',
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
        'Every fault of a 400, and which version is current of a 412.',
      ),
    },
  },
}

const RUN_ID = '019aa4c5-7a53-7c1e-a8d2-0d9bd0b3e5f1'
const pass = { scenarioId: 'season-1', nodeId: 'pass' }
const inPass = { ...pass, runId: RUN_ID }
const leveledPlan = {
  runId: RUN_ID,
  status: 'active',
  crossed: [{ nodeId: 'pass', handle: 'onLevelUp' }],
  entered: [],
  granted: [],
}
const providersAnswer = {
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
const definition = {
  name: 'Season 1',
  start: 'start',
  nodes: [
    { id: 'start', type: 'start' },
    {
      id: 'pass',
      type: 'battle-pass',
      data: {
        levels: [
          { level: 1, xp: 0 },
          { level: 2, xp: 1000 },
        ],
        tiers: [{ level: 2, track: 'free', rewards: [{ currency: 'gold', amount: 100 }] }],
        premium: { price: { currency: 'gems', amount: 950 } },
      },
    },
  ],
  edges: [{ from: 'start', handle: 'onStart', to: 'pass' }],
}

/** An example of each request and answer, by the name of its schema. A test validates each. */
export const examples: Readonly<Record<string, Json>> = {
  ProgressRequest: pass,
  ProgressResponse: { level: 2, xp: 1200, premiumOwned: false, claimedTiers: [{ level: 2, track: 'free' }] },
  AddXpRequest: { ...inPass, amount: 1200, source: 'match' },
  AddXpResponse: { level: 2, xp: 1200, leveledUp: true, maxLevel: false, plan: leveledPlan },
  ClaimRequest: { ...inPass, level: 2, track: 'free' },
  ClaimResponse: {
    success: true,
    alreadyClaimed: false,
    error: null,
    granted: [{ amount: 100, currency: 'gold', itemId: null }],
  },
  PremiumRequest: { ...inPass, idempotencyKey: '6f1c7e0a-premium' },
  PremiumResponse: {
    success: true,
    error: null,
    plan: { ...leveledPlan, crossed: [{ nodeId: 'pass', handle: 'onPremiumPurchase' }] },
  },
  CustomLoginRequest: { customData: { ticket: 'ticket-of-ada' }, nickname: 'Ada', region: 'eu-west', language: 'en' },
  CustomLinkRequest: { customData: { ticket: 'ticket-of-ada' }, provider: 'console' },
  RefreshRequest: { refreshToken: 'v5Nq4mWnQyX0b1Yk7Zs0c2d3e4f5g6h7i8j9k0l1m2n' },
  TokenPair: {
    accessToken: 'eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCIsImtpZCI6ImEifQ.eyJzdWIiOiIwMTlhYTRjNSJ9.c2lnbmF0dXJl',
    refreshToken: 'v5Nq4mWnQyX0b1Yk7Zs0c2d3e4f5g6h7i8j9k0l1m2n',
  },
  PlayerRequest: {},
  Player: {
    playerId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e21',
    nickname: 'Ada',
    avatarUrl: null,
    region: 'eu-west',
    language: 'en',
    createdAt: '2026-11-20T09:30:00.000Z',
    wallet: [{ currency: 'gold', balance: 100 }],
    inventory: [{ itemId: 'hat', amount: 1 }],
    identities: [{ provider: 'custom', subject: 'player-1' }],
  },
  StorageGetRequest: { keys: ['settings'] },
  StorageValues: { values: { settings: { music: 0.5, language: 'en' } } },
  StorageListRequest: { after: 'inventory-7', first: 2 },
  StorageKeys: {
    keys: [
      { key: 'progress', bytes: 18211 },
      { key: 'settings', bytes: 29 },
    ],
    next: 'settings',
  },
  StorageSetRequest: { values: { settings: { music: 0.5, language: 'en' } } },
  StorageDeleteRequest: { keys: ['settings'] },
  StartRunRequest: { scenarioId: 'season-1' },
  StartRunResponse: {
    runId: RUN_ID,
    resumed: false,
    plan: {
      runId: RUN_ID,
      status: 'active',
      crossed: [{ nodeId: 'start', handle: 'onStart' }],
      entered: [{ nodeId: 'shop', type: 'shop', data: { offer: 'starter' } }],
      granted: [],
    },
  },
  CrossRequest: { ...inPass, nodeId: 'shop', handle: 'onBought' },
  CrossResponse: {
    plan: {
      runId: RUN_ID,
      status: 'active',
      crossed: [{ nodeId: 'shop', handle: 'onBought' }],
      entered: [{ nodeId: 'gift', type: 'reward', data: { rewards: [{ currency: 'gold', amount: 5 }] } }],
      granted: [{ amount: 5, currency: 'gold', itemId: null }],
    },
  },
  RunRequest: { runId: RUN_ID },
  RunResponse: {
    runId: RUN_ID,
    scenarioId: 'season-1',
    status: 'active',
    active: [{ nodeId: 'shop', type: 'shop', data: { offer: 'starter' } }],
    plan: leveledPlan,
    cause: null,
  },
  AuthProvidersRequest: {
    environment: 'production',
    authProviders: {
      custom: { default: { enabled: true, url: 'https://studio.example.com/login', secret: 'a shared secret' } },
    },
  },
  AuthProviders: providersAnswer,
  ScenarioDefinition: definition,
  PublishedScenario: {
    environment: 'production',
    scenarioId: 'season-1',
    version: 1,
    definition,
    publishedAt: '2026-11-20T09:30:00.000Z',
  },
  WebhookRequest: { customData: { ticket: 'ticket-of-ada' } },
  WebhookAnswer: { subject: 'player-1', nickname: 'Ada', data: { vip: true } },
}

type Security = 'playerToken' | 'platformKey' | 'sdkKey' | null

type Tag = keyof typeof TAGS
const TAGS = {
  'Battle pass': 'Xp, levels, tiers and premium, for the calling player (spec 4.1).',
  Login: "Through the studio's own webhook (spec 4.2). These calls take the SDK key.",
  Player: 'The calling player, what it holds, and its storage.',
  Scenarios: 'Runs of scenarios, for the calling player.',
  Platform: 'Login providers and scenarios, for operators: with a platform key (spec 4.3).',
  Service: 'What the service tells of itself. Nobody needs a key.',
  Webhook: 'What a studio implements and the service calls (spec 4.4).',
}

interface Operation {
  readonly id: string
  readonly tag: Tag
  readonly summary: string
  /** With several, all are required. */
  readonly security: Security | readonly NonNullable<Security>[]
  readonly request?: string
  /** Null for a 204. */
  readonly response: string | Schema | null
  readonly refusals: readonly RefusalKind[]
  readonly parameters?: readonly Schema[]
  /** Further headers of the answer. */
  readonly headers?: Schema
  /** Default: JSON. */
  readonly mediaType?: string
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

const query = (name: string, required: boolean, description: string, schema: Schema = { type: 'string' }): Schema => ({
  in: 'query',
  name,
  required,
  description,
  schema,
})
const path = (name: string, description: string): Schema => ({
  in: 'path',
  name,
  required: true,
  description,
  schema: { type: 'string' },
})
const header = (name: string, description: string): Schema => ({
  in: 'header',
  name,
  required: false,
  description,
  schema: { type: 'string' },
})
const projectId = path('projectId', 'The project of the platform key.')
const keyHeader: Schema = {
  in: 'header',
  name: 'Idempotency-Key',
  required: false,
  schema: requiredKey.schema,
  description: 'The same key and request is answered alike for 7 days.',
}
const operatorParameter = header(
  'X-Operator',
  'The person who acts with the key, by name or e-mail address: 1 to 128 characters, kept in the audit log.',
)
const scenarioParameters = [
  projectId,
  path('scenarioId', 'The scenario: 1 to 128 characters.'),
  query('environment', true, 'The environment, such as `production`.'),
]

const REQUEST_ID: Schema = {
  description: 'Names the request in logs: the one that was sent, if it was sane.',
  schema: { type: 'string', maxLength: 128 },
}
const VERSION_TAG: Schema = {
  description: 'The version in quotation marks, such as `"4"`: give it as `If-Match`.',
  schema: { type: 'string' },
}
const RETRY_AFTER: Schema = { description: 'Seconds after which to try again.', schema: { type: 'integer' } }

function operation({
  id: operationId,
  tag,
  summary,
  security,
  request: body,
  response,
  refusals,
  parameters = [],
  headers: further = {},
  mediaType,
}: Operation): Schema {
  // Answers about the service itself come from no route and have no id.
  const headers = tag === 'Service' ? {} : { headers: { 'X-Request-Id': REQUEST_ID, ...further } }
  return {
    operationId,
    tags: [tag],
    summary,
    security: security === null ? [] : [Object.fromEntries([security].flat().map((scheme) => [scheme, []]))],
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: { required: true, content: contentOf(body) } }),
    responses: {
      ...(response === null
        ? { 204: { description: 'Done.', ...headers } }
        : { 200: { description: 'Done.', ...headers, content: contentOf(response, mediaType) } }),
      ...refusalsOf(refusals),
    },
  }
}

/** By status: each text, with an example. */
function refusalsOf(kinds: readonly RefusalKind[]): Schema {
  const byStatus = new Map<number, RefusalKind[]>()
  for (const kind of new Set(kinds)) {
    const [status] = REFUSALS[kind]
    byStatus.set(status, [...(byStatus.get(status) ?? []), kind])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, found]) => [
      status,
      {
        description: found.map((kind) => `\`${REFUSALS[kind][1]}\``).join(', '),
        headers: { 'X-Request-Id': REQUEST_ID, ...(status === 503 && { 'Retry-After': RETRY_AFTER }) },
        content: {
          'application/json': { schema: ref('Error'), examples: Object.fromEntries(found.map(errorExample)) },
        },
      },
    ]),
  )
}

function errorExample(kind: RefusalKind): [name: string, example: Schema] {
  const { message: error, code, status } = new Refusal(kind)
  const conflict = [{ path: 'If-Match', message: 'the current version is 5, not 4' }]
  const details = [{ path: 'amount', message: 'must be 1 to 9223372036854775807' }]
  const requestId = 'b7d5a0a4-6c1e-4a53-9f57-0f6a1f6f2f6e'
  return [
    code,
    {
      value: {
        error,
        code,
        requestId,
        ...((status === 400 || status === 412) && { details: status === 412 ? conflict : details }),
      },
    },
  ]
}

const content = (schema: Schema): Schema => ({ 'application/json': { schema } })

function contentOf(schema: string | Schema, mediaType?: string): Schema {
  if (mediaType !== undefined) return { [mediaType]: { schema: typeof schema === 'string' ? ref(schema) : schema } }
  if (typeof schema !== 'string') return content(schema)
  return { 'application/json': { schema: ref(schema), ...(schema in examples && { example: examples[schema] }) } }
}

const webhookHeader = (name: string, description: string): Schema => ({
  in: 'header',
  name,
  required: true,
  description,
  schema: { type: 'string' },
})

const status = answer({ status: { type: 'string', enum: ['live', 'ready', 'degraded', 'unavailable'] } }, 'State.')

export const openapi = {
  openapi: '3.1.0',
  info: {
    title: 'Tierway',
    version: '0.1.0',
    description:
      'Battle passes for live games.\n\n' +
      '- Integers of 64 bits are exact JSON integers in both directions: read them with a parser that keeps them. (The page at `/docs` rounds what it shows beyond 2^53.)\n' +
      '- A game\'s "no" comes with status 200 in the field `error`; check `success`.\n' +
      '- A request that is refused is `{error, code, requestId}`: match on `code`. A 400 names every fault in `details`, and a 412 the current version.\n' +
      '- 503 means that the outcome is not known: send the same again, with the same key.\n' +
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
        tag: 'Battle pass',
        summary:
          'Claim one tier of one track. It is granted once, however often it is sent. A tier has one list of rewards: those that a level node brings replace those of the pass.',
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
        summary: 'Buy premium from the wallet.',
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
        summary: 'Attach the subject that the webhook names to the calling player.',
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
        tag: 'Login',
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
        tag: 'Player',
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
        summary: "List the keys of the player's storage with their sizes, a part at a time.",
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
        summary: 'Read the login providers of an environment, or of all of them. Secrets never come back.',
        security: 'platformKey',
        response: {
          anyOf: [
            ref('AuthProviders'),
            answer({ environments: list(ref('AuthProviders'), 'By name.') }, 'Without an environment.'),
          ],
        },
        refusals: PLATFORM_CALL,
        parameters: [projectId, query('environment', false, 'The environment. Default: all of them.')],
      }),
      put: operation({
        id: 'setAuthProviders',
        tag: 'Platform',
        summary: 'Set the login providers of an environment. It counts for the very next login.',
        security: 'platformKey',
        request: 'AuthProvidersRequest',
        response: 'AuthProviders',
        refusals: PLATFORM_CALL,
        parameters: [projectId, operatorParameter],
      }),
    },
    '/sdk/v1/scenarios/start': {
      post: operation({
        id: 'startRun',
        tag: 'Scenarios',
        summary:
          'Start a run, or resume the active one. A run whose active nodes were all removed by an edit ends as `cancelled`, and another begins.',
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
          'Export players, the newest first, one JSON object a line. An answer that is cut off is not whole: its last chunk is missing.',
        security: 'platformKey',
        response: 'ExportedPlayer',
        mediaType: 'application/x-ndjson',
        refusals: PLATFORM_CALL,
        parameters: [
          projectId,
          ...Object.entries(filterRequest.fields).map(([name, { isRequired, description, schema }]) =>
            query(name, isRequired, description, schema),
          ),
          query('reason', false, 'Why: 1 to 500 characters, kept in the audit log.'),
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
        response: 'PublishedScenario',
        refusals: [...PLATFORM_CALL, 'versionConflict'],
        parameters: [
          ...scenarioParameters,
          query('reason', false, 'Why: 1 to 500 characters, kept in the audit log.'),
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
        summary: 'The GraphQL schema. Where introspection is off, as in production, with a platform key of any role.',
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
          tag: 'Service',
          summary: 'Whether the database is migrated and answers; `degraded` while Redis is away.',
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
        tags: ['Service'],
        summary: 'Prometheus metrics, where the configuration has them here: with its token, if it names one.',
        security: [{}, { metricsToken: [] }],
        responses: {
          200: { description: 'Metrics.', content: { 'text/plain': { schema: { type: 'string' } } } },
          401: {
            description: '`invalid token`',
            content: content(answer({ error: text('What is wrong.'), code: text('The same in snake_case.') }, 'No.')),
          },
          404: { description: '`not found`: they are off, or on a port of their own.', content: content(ref('Error')) },
        },
      },
    },
  },
  webhooks: {
    customLogin: {
      post: {
        operationId: 'answerCustomLogin',
        tags: ['Webhook'],
        summary: 'Say who a player is. Called for every login and link, up to three times, each within three seconds.',
        description:
          'Answer 200 with the player, or any 4xx to refuse. A 5xx, a timeout or no connection is tried again. Check `X-Signature` over the very bytes of the body.',
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
          200: { description: 'Who the player is.', content: contentOf('WebhookAnswer') },
          '4XX': { description: 'No: the client receives 401 `custom auth rejected`.' },
          '5XX': { description: 'Not now: after the third attempt the client receives 503 `custom auth unavailable`.' },
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

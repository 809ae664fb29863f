import { linkCustomRequest, loginCustomRequest, refreshRequest } from '../auth/requests.ts'
import { webhookAnswer } from '../auth/webhook-answer.ts'
import { addXpRequest } from '../battlepass/add-xp.ts'
import { claimTierRequest } from '../battlepass/claim-tier.ts'
import { CLAIM_ERRORS, PURCHASE_ERRORS } from '../battlepass/decide.ts'
import { purchasePremiumRequest } from '../battlepass/purchase-premium.ts'
import { progressRequest } from '../battlepass/read-progress.ts'
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
import { customProviderRequest, PROVIDERS } from '../providers/settings.ts'
import { environment } from '../request/common.ts'
import { MAX_BLOCK_BYTES, MAX_CUSTOM_PROVIDERS, MAX_EDGES, MAX_NAME, MAX_NODES, SLUG } from '../request/limits.ts'
import { object, type Schema, shape } from '../request/shape.ts'
import { crossHandleRequest } from '../scenario/cross-handle.ts'
import { runRequest } from '../scenario/read-run.ts'
import { RUN_CAUSES } from '../scenario/runs.ts'
import { startRunRequest } from '../scenario/start-run.ts'
import {
  answer,
  anyObject,
  businessError,
  flag,
  id,
  int32,
  int64,
  list,
  orNull,
  ref,
  text,
  track,
} from './schema-parts.ts'

const authProvidersFields = {
  environment: text('Name of the environment.'),
  authProviders: answer(
    {
      custom: {
        type: 'object',
        description: 'Custom providers, by name.',
        additionalProperties: answer(
          {
            enabled: flag('When false, logins through this provider fail with `custom auth disabled`.'),
            url: text('URL of the webhook.'),
            hasSecret: flag('True when a secret is stored. The secret itself is never returned.'),
            updatedAt: text('Time of the last change, in UTC.', { format: 'date-time' }),
          },
          'A custom provider.',
        ),
      },
      google: orNull({ ...anyObject, description: WITHHELD }),
      apple: orNull({ ...anyObject, description: WITHHELD }),
    },
    'Providers by kind.',
  ),
}

const publishedFields = {
  environment: text('Name of the environment.'),
  scenarioId: text('Id of the scenario.'),
  version: int32('1 for the first publication.', { minimum: 1 }),
  definition: { ...anyObject, description: 'The definition, byte for byte as it was published.' },
  publishedAt: text('Time of the publication, in UTC.', { format: 'date-time' }),
}

const withNotices = (schema: Schema, description: string): Schema => ({
  ...schema,
  properties: { ...(schema.properties as Schema), notices: list(ref('Notice'), description) },
})

export const schemas: Record<string, Schema> = {
  ExportedPlayer: {
    type: 'object',
    description:
      'One line of an export of players. The last three members are present when the export names a pass; they are null for a player without that pass.',
    properties: {
      playerId: text("The player's id."),
      status: { type: 'string', enum: STATUSES },
      nickname: orNull(text('The display name.')),
      avatarUrl: orNull(text('URL of the avatar.')),
      region: orNull(text('Region, as reported by the first login.')),
      language: orNull(text('Language, as reported by the first login.')),
      createdAt: text('Creation time, in UTC.', { format: 'date-time' }),
      lastLoginAt: orNull(text('Time of the last login, in UTC. Null before the first one.', { format: 'date-time' })),
      identities: list(
        answer(
          { provider: text('`custom`, or `custom:` and a name.'), subject: text("The studio's own id of the player.") },
          'An identity.',
        ),
        'The identities that the player can log in with.',
      ),
      level: orNull(int32('Level on the pass.')),
      xp: orNull(int64('Xp on the pass.')),
      premiumOwned: orNull(flag('Whether the player owns premium on the pass.')),
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
      level: int32('The current level; 0 below the first.'),
      xp: int64('The current xp.'),
      premiumOwned: flag('Whether the player owns the premium track.'),
      claimedTiers: list(ref('ClaimedTier'), 'Claimed tiers, by level, the free track first.'),
    },
    "A player's progress on a battle pass: the state after all calls that were answered.",
  ),
  ClaimedTier: answer({ level: int32('The level of the tier.'), track }, 'A claimed tier.'),
  AddXpRequest: addXpRequest.schema,
  AddXpResponse: answer(
    {
      level: int32('The level after the addition.'),
      xp: int64('The xp after the addition.'),
      leveledUp: flag('Whether the call reached a new level.'),
      maxLevel: flag('Whether the player is at the last level.'),
      plan: orNull(ref('ExecutionPlan')),
    },
    'The state after the addition. A call that is repeated with its idempotency key answers the same.',
  ),
  ClaimRequest: claimTierRequest.schema,
  ClaimResponse: answer(
    {
      success: flag('True when the tier is claimed, by this call or an earlier one.'),
      alreadyClaimed: flag('True when an earlier call claimed the tier.'),
      error: businessError(CLAIM_ERRORS),
      granted: list(ref('Reward'), 'The rewards of the tier. A repeated claim answers the same list.'),
    },
    'The outcome of a claim. A tier is granted once, however often it is claimed.',
  ),
  PremiumRequest: purchasePremiumRequest.schema,
  PremiumResponse: answer(
    {
      success: flag('True when premium was bought.'),
      error: businessError(PURCHASE_ERRORS),
      plan: orNull(ref('ExecutionPlan')),
    },
    'The outcome of a purchase. The price is charged once.',
  ),
  Reward: answer(
    {
      amount: int64('The amount of the currency or item.', { minimum: 1 }),
      currency: { type: ['string', 'null'], description: 'The currency; null for an item.' },
      itemId: { type: ['string', 'null'], description: 'The item; null for a currency.' },
    },
    'Exactly one of currency and itemId is set.',
  ),
  ExecutionPlan: answer(
    {
      runId: text('Id of the run.'),
      status: { type: 'string', enum: ['active', 'completed'] },
      crossed: list(
        answer({ nodeId: text('Id of the node.'), handle: text('The crossed handle.') }, 'A crossing.'),
        'Crossed handles, in order.',
      ),
      entered: list(
        ref('EnteredNode'),
        'Entered nodes, in order. The client runs the types that the service does not know.',
      ),
      granted: list(ref('Reward'), 'Rewards that reward nodes granted.'),
    },
    'The steps of the run that the call caused; null when the call crossed no handle.',
  ),
  EnteredNode: answer(
    {
      nodeId: text('Id of the node.'),
      type: text('Type of the node.'),
      data: { ...anyObject, description: 'Data of the node, as it was published.' },
    },
    'An entered node.',
  ),
  StartRunRequest: startRunRequest.schema,
  StartRunResponse: answer(
    {
      runId: text('Id of the run.'),
      resumed: flag('True when the run was already active.'),
      plan: orNull(ref('ExecutionPlan')),
    },
    'The active run. For a resumed run, `plan` is the last plan.',
  ),
  CrossRequest: crossHandleRequest.schema,
  CrossResponse: answer({ plan: orNull(ref('ExecutionPlan')) }, 'The steps that the crossing caused.'),
  RunRequest: runRequest.schema,
  RunResponse: answer(
    {
      runId: text('Id of the run.'),
      scenarioId: text('Id of the scenario.'),
      status: { type: 'string', enum: ['active', 'completed', 'cancelled'] },
      active: list(ref('EnteredNode'), 'Active nodes: entered and not left.'),
      plan: orNull(ref('ExecutionPlan')),
      cause: {
        type: ['string', 'null'],
        enum: [...RUN_CAUSES, null],
        description:
          'The reason why the run was cancelled. Null for any other run, and for a run that was cancelled before causes were recorded.',
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
        'A JWT for `Authorization: Bearer`. Valid for 24 hours; when the login ends earlier, the token ends within two seconds.',
      ),
      refreshToken: text('Valid for 7 days and for one use.'),
    },
    'The tokens of a login.',
  ),
  StorageGetRequest: storageGetRequest.schema,
  StorageValues: answer(
    { values: { ...anyObject, description: 'Values by key, byte for byte as they were written.' } },
    'Stored values.',
  ),
  StorageListRequest: storageListRequest.schema,
  StorageKeys: answer(
    {
      keys: list(
        answer(
          { key: text('A key.'), bytes: int32('The size of its value in UTF-8.', { minimum: 1 }) },
          'A stored key.',
        ),
        'Keys in the order of their bytes.',
      ),
      next: orNull(text('Pass it as `after` to read the next page. Null on the last page.')),
    },
    'A page of keys.',
  ),
  StorageSetRequest: storageSetRequest.schema,
  StorageDeleteRequest: storageDeleteRequest.schema,
  PlayerRequest: playerRequest.schema,
  Player: answer(
    {
      playerId: text('Id of the player.'),
      nickname: orNull(text('The display name.')),
      avatarUrl: orNull(text('URL of the avatar.')),
      region: orNull(text('Region, as reported by the first login.')),
      language: orNull(text('Language, as reported by the first login.')),
      createdAt: text('Creation time, in UTC.', { format: 'date-time' }),
      wallet: list(
        answer({ currency: text('The currency.'), balance: int64('The balance.', { minimum: 0 }) }, 'A balance.'),
        'By currency.',
      ),
      inventory: list(
        answer({ itemId: text('The item.'), amount: int64('The amount.', { minimum: 0 }) }, 'A held item.'),
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
    authProviders: object(PROVIDERS, {
      properties: {
        custom: orNull({
          type: 'object',
          description: 'All custom providers, by name.',
          maxProperties: MAX_CUSTOM_PROVIDERS,
          propertyNames: { pattern: SLUG.source, not: { enum: RESERVED_NAMES } },
          additionalProperties: customProviderRequest.schema,
        }),
        google: orNull({
          ...anyObject,
          description: `Up to ${MAX_BLOCK_BYTES} bytes. Null removes the stored block.`,
        }),
        apple: orNull({
          ...anyObject,
          description: `Up to ${MAX_BLOCK_BYTES} bytes. Null removes the stored block.`,
        }),
      },
    }),
  }).schema,
  AuthProviders: answer(authProvidersFields, 'The login providers of an environment, without secrets.'),
  ChangedAuthProviders: withNotices(
    answer(authProvidersFields, 'The login providers of an environment after a change.'),
    'Members that no rule knows, members that are repeated, and secrets with white space around them. Absent without any.',
  ),
  Notice: answer(
    { path: text('The place in the request.'), message: text('What is odd about it.') },
    'A note about a request that was accepted.',
  ),
  ScenarioDefinition: {
    type: 'object',
    description:
      'A graph of nodes. Publishing validates the whole definition and names every fault at once. /schemas/scenario.json is the full schema, with the data of each type of node.',
    required: ['name', 'start', 'nodes', 'edges'],
    properties: {
      name: text('Display name of the scenario.', { minLength: 1, maxLength: MAX_NAME }),
      start: id('Id of the node where runs begin.'),
      nodes: list(
        {
          type: 'object',
          required: ['id', 'type'],
          properties: {
            id: id('Unique within the scenario.'),
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
            from: id('Id of the node with the handle.'),
            handle: text('The handle.'),
            to: id('Id of the node that a crossing enters.'),
          },
        },
        `Up to ${MAX_EDGES} edges.`,
      ),
    },
  },
  PublishedScenario: answer(publishedFields, 'A published version.'),
  Publication: withNotices(
    answer(publishedFields, 'The current version after a publication.'),
    'Notes for the designer about the definition. Absent without any.',
  ),
  WebhookRequest: answer(
    {
      customData: {
        ...anyObject,
        description: 'The `customData` of the game client, byte for byte. Do not trust it: verify it.',
      },
    },
    'The body is exactly this object.',
  ),
  WebhookAnswer: { ...webhookAnswer.schema, description: 'The identity of the player. Other members are ignored.' },
  JsonWebKeySet: answer(
    {
      keys: list(
        answer(
          {
            kty: text('`OKP`.'),
            crv: text('`Ed25519`.'),
            kid: text('Key id, as in the header of a token.'),
            x: text('The public key.'),
            alg: text('`EdDSA`.'),
            use: text('`sig`.'),
          },
          'A public key.',
        ),
        'The keys of all tokens that are still valid.',
      ),
    },
    'RFC 7517.',
  ),
  Error: {
    type: 'object',
    required: ['error', 'code', 'requestId'],
    additionalProperties: false,
    properties: {
      error: text('The error, for people.'),
      code: text('The error in snake_case, for programs.'),
      requestId: text('The same as the header `X-Request-Id`.'),
      details: list(
        answer({ path: text('Path of the faulty member, such as `amount`.'), message: text('The fault.') }, 'A fault.'),
        'For 400: every fault of the request. For 412: the current version.',
      ),
    },
  },
}

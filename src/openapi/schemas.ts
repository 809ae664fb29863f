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
import { customProviderRequest, MAX_BLOCK_BYTES } from '../providers/settings.ts'
import { environment } from '../request/common.ts'
import { MAX_CUSTOM_PROVIDERS, MAX_EDGES, MAX_NAME, MAX_NODES, SLUG } from '../request/limits.ts'
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

export const schemas: Record<string, Schema> = {
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

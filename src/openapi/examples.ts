import type { Json } from '../json.ts'

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
const published = {
  environment: 'production',
  scenarioId: 'season-1',
  version: 1,
  definition,
  publishedAt: '2026-11-20T09:30:00.000Z',
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
  ChangedAuthProviders: {
    ...providersAnswer,
    notices: [
      {
        path: 'authProviders.costum',
        message: 'is ignored: no rule knows this member; did you mean custom?',
      },
    ],
  },
  ScenarioDefinition: definition,
  PublishedScenario: published,
  Publication: {
    ...published,
    notices: [
      {
        path: 'nodes[1].data.tiers[0].reward',
        message: 'is ignored: no rule knows this member; did you mean rewards?',
      },
    ],
  },
  WebhookRequest: { customData: { ticket: 'ticket-of-ada' } },
  WebhookAnswer: { subject: 'player-1', nickname: 'Ada', data: { vip: true } },
}

import graphql from '@graphql-eslint/eslint-plugin'

// The rules of graphql-eslint for `schema.graphql`: its recommended ones, Relay's, and two more.

const { configs, parser } = graphql
const rule = (name) => `@graphql-eslint/${name}`

/** Types without an identity: parts of other objects, figures, and answers of operations. */
const VALUE_SUFFIXES = ['Connection', 'Diff', 'Edge', 'Figures', 'Insight', 'Payload', 'Preview', 'Progress', 'Result']
const VALUE_TYPES = [
  'AccountPolicy',
  'AuthProviders',
  'Ban',
  'Calendar',
  'CalendarConflict',
  'CalendarPhase',
  'CalendarSeason',
  'CallMinute',
  'CallStatistics',
  'ChangedDate',
  'ChangedLevel',
  'ChangedNode',
  'ChangedPrice',
  'ChangedTier',
  'ClaimedTier',
  'ClippedXp',
  'CrossedHandle',
  'CustomProvider',
  'DenialReason',
  'DeviceProvider',
  'DiffedLevel',
  'DiffedNode',
  'DiffedTier',
  'EnteredNode',
  'EnvironmentClock',
  'ExecutionPlan',
  'GrantedTier',
  'Identity',
  'LevelPlayers',
  'LinkedIdentity',
  'LoginAttempts',
  'LoginLatency',
  'LoginStatistics',
  'LoginTime',
  'NewlyClaimable',
  'NextRun',
  'Notice',
  'OddBodyCheck',
  'OidcProvider',
  'PageInfo',
  'PlayerSession',
  'Price',
  'ProviderLogins',
  'RemovedClaims',
  'RemovedNode',
  'ReorderedEdges',
  'Reward',
  'RoleKeys',
  'ScenarioFault',
  'ScenarioVersionSummary',
  'Season',
  'SeasonBoost',
  'SeasonSettlement',
  'StorageEntry',
  'StorageKey',
  'StoredText',
  'TierClaim',
  'TierPlayers',
  'ValueChange',
  'WebhookAttempt',
  'XpOfOrigin',
  'XpOutlier',
  'XpOutliers',
  'XpSource',
  'XpTime',
]

export default [
  {
    files: ['**/*.graphql'],
    languageOptions: { parser, parserOptions: { graphQLConfig: { schema: 'schema.graphql' } } },
    plugins: { '@graphql-eslint': graphql },
    rules: {
      ...configs['flat/schema-recommended'].rules,
      ...configs['flat/schema-relay'].rules,
      [rule('input-name')]: ['error', { checkInputType: true, caseSensitiveInputType: false }],
      [rule('no-scalar-result-type-on-mutation')]: 'error',
      [rule('strict-id-in-types')]: ['error', { exceptions: { types: VALUE_TYPES, suffixes: VALUE_SUFFIXES } }],
      // `playerId` and similar fields are the ids of REST and of the audit log, in addition to the global `id`.
      [rule('no-typename-prefix')]: 'off',
      // Bounded lists are plain lists, and lists of values are paged, too.
      [rule('relay-edge-types')]: [
        'error',
        { withEdgeSuffix: true, listTypeCanWrapOnlyEdgeType: false, shouldImplementNode: false },
      ],
    },
  },
]

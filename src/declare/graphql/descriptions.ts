import SchemaBuilder, {
  BasePlugin,
  type PothosInputFieldConfig,
  type PothosOutputFieldConfig,
  type PothosTypeConfig,
  type SchemaTypes,
} from '@pothos/core'
import { MAX_ASSET, MAX_PAGE } from '../../base/limits.ts'
import { AS_OF } from '../common.ts'
import { DEFAULT_SIZE } from './page.ts'

/**
 * Names in the schema with the same meaning everywhere, described once. A description of the field, argument or input
 * value itself takes precedence.
 */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  amount: 'The number of units.',
  asOf: AS_OF,
  avatarUrl: "The URL of the player's picture, from the webhook.",
  claimedAt: 'The time of the claim.',
  createdAt: 'The time of its creation.',
  currency: `A currency, as the scenario and its prices name it: 1 to ${MAX_ASSET} characters.`,
  cursor: 'Its place in the stream, for `after` and `before`.',
  customData: 'The data that a game client sends to the webhook.',
  definition: 'The definition of the scenario.',
  enabled: 'When false, logins through this provider fail with `custom auth disabled`.',
  endedAt: 'The time of completion or cancellation; null for an active run.',
  environment: "An environment's name, such as `production`.",
  environments: 'The environments of the project.',
  faults: 'Every fault, with its place.',
  figures: 'Figures of its logins.',
  granted: 'The granted rewards.',
  handle: 'A handle of the node, such as `onStart`.',
  id: 'The global id.',
  identity: 'The linked identity.',
  itemId: "The item's id in scenarios.",
  level: 'A level of the pass; 0 is below the first.',
  logins: 'The number of logins.',
  milliseconds: 'The duration, in milliseconds.',
  name: 'The name.',
  nickname: "The player's name.",
  nodeId: "A node's id in its scenario.",
  occurredAt: 'The time of the call that caused the event.',
  outcome: 'The result.',
  pass: 'The battle pass.',
  plan: 'The continuation of the run; null when nothing was crossed.',
  player: 'The player after the action.',
  playerId: "A player's id.",
  players: 'The number of players.',
  premiumOwned: 'The player owns premium.',
  project: 'The project after the change.',
  provider:
    'A provider. In identities: `custom`, `custom:` and the name of another custom provider, `google`, `apple`, `oidc:` and the name of an issuer, or `device`. Elsewhere a custom provider has its name, such as `default`.',
  publishedAt: 'The time of the publication.',
  refreshToken: 'The refresh token of a login.',
  result: "The same result that the player's own call returns.",
  rewards: 'Its rewards.',
  role: 'The role of the key.',
  runId: "A run's id.",
  scenario: 'The current version after the call.',
  scenarioId: "A scenario's id in its environment.",
  source: 'The source of the xp, as the game named it.',
  startedAt: 'The time of the start.',
  subject: "The studio's own id of the player, from its webhook.",
  track: 'The track of the tier.',
  type: 'The type of the node, such as `battle-pass`.',
  updatedAt: 'The time of the last change.',
  valid: 'True when there are no faults, so that it could be published.',
  version: 'The number of the version, from 1.',
  xp: 'The total of xp.',
}

const CONNECTION_DESCRIPTIONS: Readonly<Record<string, string>> = {
  endCursor: 'The place of the last entry. Pass it as `after` for the next page.',
  hasNextPage: 'More entries follow.',
  hasPreviousPage: 'More entries come before.',
  startCursor: 'The place of the first entry. Pass it as `before` for the previous page.',
}

const ARGUMENT_DESCRIPTIONS: Readonly<Record<string, string>> = {
  environment: 'Only this environment.',
  first: `Entries from the beginning of the list: 1 to ${MAX_PAGE}. Default: ${DEFAULT_SIZE}.`,
  last: `Entries from the end of the list: 1 to ${MAX_PAGE}.`,
  nodeId: 'Only this node.',
  playerId: 'Only this player.',
  provider: 'Only this provider, such as `default`.',
  role: 'Only this role.',
  scenarioId: 'Only this scenario.',
  status: 'Only this status.',
  subject: 'Only this subject.',
  types: 'Only these kinds.',
}

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      descriptions: DescriptionsPlugin<Types>
    }
  }
}

/** Adds missing descriptions of names with the same meaning everywhere. What says no more than its name has none. */
class DescriptionsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onTypeConfig(config: PothosTypeConfig): PothosTypeConfig {
    return { ...config, description: config.description ?? describeType(config.name) }
  }

  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const shared = PAGED.test(config.parentType) ? CONNECTION_DESCRIPTIONS : DESCRIPTIONS
    return { ...config, description: config.description ?? shared[config.name] }
  }

  override onInputFieldConfig(config: PothosInputFieldConfig<Types>): PothosInputFieldConfig<Types> {
    const shared =
      config.kind === 'Arg' && !config.type.required ? { ...DESCRIPTIONS, ...ARGUMENT_DESCRIPTIONS } : DESCRIPTIONS
    return { ...config, description: config.description ?? shared[config.name] }
  }
}

SchemaBuilder.registerPlugin('descriptions', DescriptionsPlugin)

// ChangedEdge and DefinitionEdge are edges of a scenario's graph.
const PAGED = /^PageInfo$|Connection$|(?<!^Changed|^Definition)Edge$/

/** Results and payloads are named after their field. */
function describeType(name: string): string | undefined {
  if (name === 'PageInfo') return 'The place of a page in its list.'
  const [, first = '', rest] = /^(.)(.*)(?:Result|Payload)$/.exec(name) ?? []
  return rest === undefined ? undefined : `The result of \`${first.toLowerCase()}${rest}\`.`
}

import { Refusal } from '../../base/errors.ts'
import { isSlug, SLUG } from '../../base/limits.ts'
import { text, uuid } from '../../transactions/columns.ts'
import type { Group } from '../../transactions/group.ts'
import { keyOf } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'

// The names of login providers. A custom provider has the name that the studio gave it, such as `default`. The others are
// `google`, `apple`, `device`, and `oidc:<name>` for an issuer of the studio's own.

/** The provider of a request that names none; its identities are bound as `custom` (contract 2.3). */
export const DEFAULT_PROVIDER = 'default'

/** Names that no custom provider may have (contract 2.3). */
export const RESERVED_NAMES: readonly string[] = ['google', 'apple', 'device']

export const NAME_RULE = `a provider's name must match ${SLUG.source} and not be ${RESERVED_NAMES.join(', ')}`

export const isProviderName = (name: string): boolean => isSlug(name) && !RESERVED_NAMES.includes(name)

/** The kinds of providers that an environment has once, without a name. */
export const SINGLE_KINDS = ['google', 'apple', 'device'] as const
export type ProviderKind = 'custom' | 'oidc' | (typeof SINGLE_KINDS)[number]

/** The platforms whose issuers of ID tokens are known. */
export const PLATFORM_KINDS = ['google', 'apple'] as const
export type PlatformKind = (typeof PLATFORM_KINDS)[number]

/** A provider as the settings store it. */
export interface ProviderRef {
  readonly kind: ProviderKind
  /** Empty for the kinds that an environment has once. */
  readonly name: string
}

const OIDC = 'oidc:'

export function providerRef(provider: string): ProviderRef {
  const single = SINGLE_KINDS.find((kind) => kind === provider)
  if (single !== undefined) return { kind: single, name: '' }
  // No custom provider has a name with a colon.
  if (provider.startsWith(OIDC)) return { kind: 'oidc', name: provider.slice(OIDC.length) }
  return { kind: 'custom', name: provider }
}

export const oidcProvider = (name: string): string => OIDC + name

const providers = table('auth_providers', {
  owner: null,
  key: { environmentId: uuid, kind: text, name: text },
  columns: {},
  kind: 'append',
})
const enabledProvider = providers.one({ where: 't.enabled' })
const withoutWebhook = providers.many(['environmentId'], ({ kind, name }) => keyOf(kind, name), {
  where: "t.enabled AND t.kind <> 'custom'",
})

/**
 * Asks whether a provider is still enabled, since its approval can take long. The returned function refuses one that is
 * not, once the group no longer waits.
 */
export function askProvider(
  group: Group,
  { environmentId, provider }: { readonly environmentId: string; readonly provider: string },
): () => void {
  const { kind, name } = providerRef(provider)
  const found = group.unowned.one(enabledProvider, keyOf(environmentId, kind, name))
  return () => {
    if (!found.value) throw new Refusal(kind === 'custom' ? 'customAuthDisabled' : 'signInDisabled')
  }
}

/** Asks whether an environment has an enabled provider without a webhook. The returned function says it. */
export function askSignIn(group: Group, { environmentId }: { readonly environmentId: string }): () => boolean {
  const found = group.unowned.many(withoutWebhook, keyOf(environmentId))
  return () => !found.isEmpty
}

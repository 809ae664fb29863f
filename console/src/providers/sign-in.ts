import type { Json, ResultOf } from '../graphql.ts'
import type { providersQuery } from './operations.ts'

// Providers that need no webhook, as the page and its dialogs see them.

export type Providers = ResultOf<typeof providersQuery>['authProviders'][number]
export type Issuer = Providers['oidc'][number]

export interface SignIn {
  readonly kind: 'google' | 'apple' | 'oidc' | 'device'
  /** As in logins, in the login log and in identities: `google`, `oidc:studio`. */
  readonly provider: string
  readonly title: string
  /** Null when it is not set up. */
  readonly isEnabled: boolean | null
  readonly clients: readonly string[]
  /** What is missing before a login can use it, in words. */
  readonly missing: readonly string[]
  /** The settings that are stored, with members that no login uses. */
  readonly block?: Json
  readonly issuer?: Issuer
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function platform(kind: 'google' | 'apple', title: string, found: Providers): SignIn {
  const block = found[kind] ?? undefined
  const { enabled, clientIds } = isObject(block) ? block : { enabled: undefined, clientIds: undefined }
  const prefix = `authProviders.${kind}.`
  return {
    kind,
    provider: kind,
    title,
    isEnabled: block === undefined ? null : enabled === true,
    clients: Array.isArray(clientIds) ? clientIds.map(String) : [],
    missing: found.missing
      .filter(({ path }) => path.startsWith(prefix))
      .map(({ path, message }) => `${path.slice(prefix.length)} ${message}`),
    block,
  }
}

/** All ways to sign in without a webhook, those that are not set up, too. */
export function signInsOf(found: Providers): readonly SignIn[] {
  return [
    platform('google', 'Google', found),
    platform('apple', 'Apple', found),
    ...found.oidc.map((issuer) => ({
      kind: 'oidc' as const,
      provider: `oidc:${issuer.name}`,
      title: issuer.name,
      isEnabled: issuer.enabled,
      clients: issuer.audiences,
      missing: [],
      issuer,
    })),
    {
      kind: 'device',
      provider: 'device',
      title: 'Guests',
      isEnabled: found.device?.enabled ?? null,
      clients: [],
      missing: [],
    },
  ]
}

/** The lines of a text, without white space around them and without empty ones. */
export const linesOf = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** The settings of a provider, without its secret. */
export interface Settings {
  readonly enabled: boolean
  readonly url: string
  /** The longest time of an attempt; null for the service's own limit. */
  readonly timeoutMs?: number | null
  /** The most attempts of a call; null for the service's own limit. */
  readonly attempts?: number | null
  /** The failed calls in a row after which the breaker opens; null for none. */
  readonly breakerAfter?: number | null
  /** Whether calls are also signed by an Ed25519 key. */
  readonly ed25519?: boolean | null
  /** Whether access tokens carry the claims of an answer. */
  readonly claims?: boolean | null
  /** Whether clients receive the reason of a denial. */
  readonly denialReasons?: boolean | null
  /** In PEM; null for the public authorities. */
  readonly caCertificates?: string | null
  /** In PEM; null for none. */
  readonly clientCertificate?: string | null
}

const SETTINGS = [
  'enabled',
  'url',
  'timeoutMs',
  'attempts',
  'breakerAfter',
  'ed25519',
  'claims',
  'denialReasons',
  'caCertificates',
  'clientCertificate',
] as const satisfies readonly (keyof Settings)[]

/** The settings of a provider that is stored, without what the service adds. */
export const settingsOf = (stored: Settings): object =>
  Object.fromEntries(SETTINGS.map((setting) => [setting, stored[setting]]))

/** A setting that is off is null, false or absent. */
const same = (one: Settings | undefined, other: Settings | undefined): boolean =>
  (one === undefined) === (other === undefined) &&
  SETTINGS.every((setting) => (one?.[setting] || null) === (other?.[setting] || null))

const signs = (settings: Settings | undefined): boolean => settings?.ed25519 === true

const limitsOf = (settings: Settings | undefined): string =>
  `${settings?.timeoutMs ?? ''} ${settings?.attempts ?? ''} ${settings?.breakerAfter ?? ''}`

/**
 * The change that another person has made to a provider since a dialog showed it. Undefined when the change can be sent:
 * the provider is unchanged, or an earlier press, whose answer was lost, has already made this change.
 */
export function conflictOf(
  name: string,
  of: {
    readonly shown: Settings | undefined
    readonly found: Settings | undefined
    /** Undefined removes the provider. */
    readonly wanted: Settings | undefined
  },
): string | undefined {
  const { shown, found, wanted } = of
  if (same(found, shown) || same(found, wanted)) return undefined
  if (found === undefined) return `${name} was removed meanwhile. Close this dialog and look again.`
  const state = `it is ${found.enabled ? 'enabled' : 'disabled'} and calls ${found.url}`
  return shown === undefined
    ? `${name} was added meanwhile: ${state}. Close this dialog and edit it.`
    : `${name} was changed meanwhile: ${state}. Close this dialog and look again.`
}

/** The effects of saving a provider, in sentences. Empty when nothing would change. */
export function effectsOf(
  name: string,
  of: {
    readonly shown: Settings | undefined
    readonly wanted: Settings
    readonly hasNewSecret: boolean
    readonly hasNewClientKey: boolean
  },
): readonly string[] {
  const { shown, wanted, hasNewSecret, hasNewClientKey } = of
  if (shown === undefined) {
    const which = name === 'default' ? 'logins that name no provider' : `logins that name ${name}`
    return wanted.enabled
      ? [`From the next login on, ${which} ask ${wanted.url}.`]
      : [`${name} is stored. Logins through it fail until it is enabled.`]
  }
  const effects: string[] = []
  if (wanted.url !== shown.url)
    effects.push(`From the next login on, ${name} asks ${wanted.url} instead of ${shown.url}.`)
  if (limitsOf(wanted) !== limitsOf(shown)) {
    const breaker = wanted.breakerAfter ?? null
    const after = breaker === null ? '' : ` After ${breaker} failed calls in a row, further logins fail at once.`
    effects.push(
      `From the next login on, ${name} is asked up to ${wanted.attempts ?? 3} times, for ${wanted.timeoutMs ?? 3_000} ms each.${after}`,
    )
  }
  if (signs(wanted) && !signs(shown))
    effects.push('From the next login on, calls are also signed by an Ed25519 key. Its public key is shown then.')
  if (!signs(wanted) && signs(shown))
    effects.push('From the next login on, no Ed25519 key signs. A webhook that verifies by it refuses every login.')
  if ((wanted.claims === true) !== (shown.claims === true))
    effects.push(
      `From the next login on, access tokens carry ${wanted.claims ? 'the claims that the webhook answers' : 'no claims'}.`,
    )
  if ((wanted.denialReasons === true) !== (shown.denialReasons === true))
    effects.push(
      `From the next denial on, clients receive ${wanted.denialReasons ? 'the reason that the webhook answers' : 'no reason'}.`,
    )
  if ((wanted.caCertificates ?? null) !== (shown.caCertificates ?? null))
    effects.push(
      `From the next login on, ${name} is trusted if ${wanted.caCertificates ? 'one of these authorities' : 'a public authority'} signed its certificate.`,
    )
  if ((wanted.clientCertificate ?? null) !== (shown.clientCertificate ?? null) || hasNewClientKey)
    effects.push(
      `From the next login on, calls show ${wanted.clientCertificate ? 'this client certificate' : 'no client certificate'}. A webhook that does not accept it gets no login.`,
    )
  if (wanted.enabled && !shown.enabled) effects.push(`Logins through ${name} are possible again.`)
  if (!wanted.enabled && shown.enabled)
    effects.push(`From the next one on, logins through ${name} fail with “custom auth disabled”.`)
  if (hasNewSecret)
    effects.push('The new secret signs from the next login on. A webhook that does not know it refuses every login.')
  return effects
}

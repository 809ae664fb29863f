import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'

// The certificates of a provider: those of a private authority that signs its endpoint's, and the one by which the
// endpoint recognizes Tierway. All texts are PEM.

export interface WebhookTls {
  /** The authorities that are trusted, instead of the public ones; null for those. */
  readonly caCertificates: string | null
  /** The certificate that is shown to the endpoint, with those between it and its authority; null for none. */
  readonly clientCertificate: string | null
  /** The private key of `clientCertificate`. */
  readonly clientKey: string | null
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]{1,40})-----[^-]*-----END \1-----/g
const LABEL = /-----BEGIN ([A-Z0-9 ]{1,40})-----/g

/** What is wrong with certificates in PEM. Undefined for nothing. */
export function certificatesFault(pem: string): string | undefined {
  const labels = [...pem.matchAll(LABEL)].map(([, label]) => label)
  const other = labels.find((label) => label !== 'CERTIFICATE')
  if (other !== undefined) return `must have certificates only, not a block of ${other}`
  const blocks = pem.match(BLOCK) ?? []
  if (labels.length === 0) return 'must be certificates in PEM: -----BEGIN CERTIFICATE----- …'
  if (blocks.length < labels.length) return `its certificate ${blocks.length + 1} has no end`
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block)
    } catch {
      return `its certificate ${index + 1} cannot be read`
    }
  }
  return refusal(() => createSecureContext({ ca: pem }))
}

/** What is wrong with a private key in PEM. Undefined for nothing. */
export function clientKeyFault(pem: string): string | undefined {
  try {
    createPrivateKey(pem)
    return undefined
  } catch {
    return /BEGIN ENCRYPTED|,ENCRYPTED/.test(pem)
      ? 'must not be protected by a passphrase'
      : 'must be a private key in PEM: -----BEGIN PRIVATE KEY----- …'
  }
}

/** Whether a certificate, the first of several, is that of a private key. Both can be read. */
export function isPair(certificates: string, clientKey: string): boolean {
  const [first] = readCertificates(certificates)
  const key: KeyObject = createPrivateKey(clientKey)
  return first?.checkPrivateKey(key) ?? false
}

/** Why OpenSSL does not take a pair that fits, such as a key that is too short. Undefined when it does. */
export const pairFault = (certificates: string, clientKey: string): string | undefined =>
  refusal(() => createSecureContext({ cert: certificates, key: clientKey }))

const readCertificates = (pem: string): X509Certificate[] =>
  (pem.match(BLOCK) ?? []).map((block) => new X509Certificate(block))

/** When the first of certificates expires. They can be read. */
export const expiryOf = (pem: string): Date =>
  new Date(Math.min(...readCertificates(pem).map(({ validTo }) => Date.parse(validTo))))

/** The settings of TLS as OpenSSL holds them. Throws for settings that cannot be read. */
export const contextOf = ({ caCertificates, clientCertificate, clientKey }: WebhookTls): SecureContext =>
  createSecureContext({
    ...(caCertificates !== null && { ca: caCertificates }),
    ...(clientCertificate !== null && clientKey !== null && { cert: clientCertificate, key: clientKey }),
  })

function refusal(make: () => SecureContext): string | undefined {
  try {
    make()
    return undefined
  } catch (error) {
    const { reason } = error as { reason?: unknown }
    return `is refused by OpenSSL${typeof reason === 'string' ? `: ${reason}` : ''}`
  }
}

/** The reasons for which connections with TLS fail, by the code of Node or of the alert that the endpoint sent. */
const CAUSES: readonly (readonly [codes: RegExp, cause: string])[] = [
  [/^CERT_HAS_EXPIRED$/, "the endpoint's certificate has expired"],
  [/^CERT_NOT_YET_VALID$/, "the endpoint's certificate is not valid yet"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "the endpoint's certificate is for another host"],
  [/SELF_SIGNED|^UNABLE_TO/, "the endpoint's certificate is from an authority that is not trusted"],
  [
    /CERTIFICATE_REQUIRED$|HANDSHAKE_FAILURE$/,
    'the endpoint refused the connection: it may want a client certificate, or other versions of TLS',
  ],
  [/ALERT_UNKNOWN_CA$/, 'the endpoint does not know the authority of the client certificate'],
  [/ALERT_(BAD_CERTIFICATE|CERTIFICATE_\w+|ACCESS_DENIED)$/, 'the endpoint refused the client certificate'],
  [/WRONG_VERSION_NUMBER$|PACKET_LENGTH_TOO_LONG$/, 'the endpoint speaks no TLS at this port'],
]

/**
 * An endpoint that refuses a client certificate says so and closes the connection. With TLS 1.3 its word may be lost, as
 * the request is on its way by then.
 */
export const CAUSE_OF_RESET =
  'the endpoint closed the connection: it may want a client certificate, or refuse the one that it was shown'

/** Why a connection with TLS failed, in words. Null when the error does not say. */
export function causeOfTls(thrown: unknown): string | null {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const { code } = error as { code?: unknown }
    const [, cause] = (typeof code === 'string' && CAUSES.find(([codes]) => codes.test(code))) || []
    if (cause !== undefined) return cause
  }
  return null
}

import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { isIP } from 'node:net'

// Certificates that are made at run time: one in a file would expire, and its key would be a secret in the repository.

export interface Certificate {
  /** Both in PEM. */
  readonly cert: string
  readonly key: string
}

export interface CertificateOptions {
  /** The host names and IPv4 addresses that it is for. Default: none. */
  readonly names?: readonly string[]
  /** Default: the year 2049. */
  readonly until?: Date
}

export interface Authority extends Certificate {
  /** A certificate that this authority signs. */
  issue(commonName: string, options?: CertificateOptions): Certificate
}

const FROM = new Date('2020-01-01T00:00:00Z')
const UNTIL = new Date('2049-12-31T23:59:59Z')
let serials = 0

export function makeAuthority(commonName: string): Authority {
  const { privateKey, publicKey } = newKeys()
  const issuer = { name: commonName, key: privateKey }
  const extensions = [extension('551d13', der(0x30, TRUE), { isCritical: true })]
  return {
    key: printKey(privateKey),
    cert: signed({ subject: commonName, publicKey, issuer, extensions, until: UNTIL }),
    issue(subject, { names = [], until = UNTIL } = {}) {
      const own = newKeys()
      const alternatives = names.length === 0 ? [] : [extension('551d11', der(0x30, ...names.map(printName)))]
      const cert = signed({ subject, publicKey: own.publicKey, issuer, extensions: alternatives, until })
      return { cert, key: printKey(own.privateKey) }
    },
  }
}

/** A self-signed certificate of `127.0.0.1`. */
export function selfSigned(): Certificate {
  const { privateKey, publicKey } = newKeys()
  const issuer = { name: '127.0.0.1', key: privateKey }
  const cert = signed({ subject: '127.0.0.1', publicKey, issuer, extensions: [], until: UNTIL })
  return { cert, key: printKey(privateKey) }
}

interface Contents {
  readonly subject: string
  readonly publicKey: KeyObject
  readonly issuer: { readonly name: string; readonly key: KeyObject }
  readonly extensions: readonly Buffer[]
  readonly until: Date
}

/** A certificate of X.509, version 3 (RFC 5280, 4.1), in PEM. */
function signed({ subject, publicKey, issuer, extensions, until }: Contents): string {
  serials += 1
  const ecdsaWithSha256 = der(0x30, Buffer.from('06082a8648ce3d040302', 'hex'))
  const contents = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([0x01, serials >> 8, serials & 0xff])),
    ecdsaWithSha256,
    printSubject(issuer.name),
    der(0x30, printTime(FROM), printTime(until)),
    printSubject(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length > 0 ? [der(0xa3, der(0x30, ...extensions))] : []),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', contents, issuer.key))
  const base64 = der(0x30, contents, ecdsaWithSha256, signature).toString('base64')
  return `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`
}

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const printKey = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }) as string

const TRUE = der(0x01, Buffer.from([0xff]))
/** UTCTime: `490101000000Z`. */
const printTime = (at: Date): Buffer =>
  der(0x17, Buffer.from(`${at.toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`))
const printSubject = (commonName: string): Buffer =>
  der(0x30, der(0x31, der(0x30, Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from(commonName)))))
const printName = (name: string): Buffer =>
  isIP(name) === 4 ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name))

/** An extension, with its object identifier in hex. */
function extension(id: string, value: Buffer, { isCritical = false } = {}): Buffer {
  const identifier = der(0x06, Buffer.from(id, 'hex'))
  return der(0x30, identifier, ...(isCritical ? [TRUE] : []), der(0x04, value))
}

/** One ASN.1 value in DER. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

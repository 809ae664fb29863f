import { elements, kindOf, members, objectText } from '../../base/json.ts'

// The blocks of `google` and `apple` are stored as given, but members with these names are never returned. A name that
// only contains such a word, as `keyId` and `tokenUri` do, is returned: the person who set it must be able to see it.

const WRITE_ONLY: ReadonlySet<string> = new Set([
  'secret',
  'clientsecret',
  'privatekey',
  'password',
  'token',
  'accesstoken',
  'refreshtoken',
  'apikey',
  'signingkey',
])
/** The description of this rule in the API's texts. */
export const WITHHELD =
  'As stored, without members named secret, client secret, private key, password, token, access token, refresh token, API key or signing key (in any case, with `_` or `-` or without).'

const isWriteOnly = (name: string): boolean => WRITE_ONLY.has(name.replaceAll(/[_-]/g, '').toLowerCase())

/** A JSON text without the write-only members of its objects, at any depth. */
export function redact(text: string): string {
  switch (kindOf(text)) {
    case 'object':
      return objectText([...split(text).shown].map(([name, raw]) => [name, redact(raw)]))
    case 'array':
      return `[${elements(text).map(redact).join(',')}]`
    default:
      return text
  }
}

/**
 * Adds to a JSON text the write-only members of the text that it replaces, except those that it sets itself. Write-only
 * members come last in their objects, sorted by name: the same settings give the same text.
 */
export function withKeptSecrets(text: string, replaced = 'null'): string {
  switch (kindOf(text)) {
    case 'object': {
      const sent = split(text)
      const before = split(kindOf(replaced) === 'object' ? replaced : '{}')
      const given = [...sent.withheld].filter(([, raw]) => raw !== 'null')
      const withheld = new Map([...before.withheld, ...given])
      return objectText([
        ...[...sent.shown].map(([name, raw]): Member => [name, withKeptSecrets(raw, before.shown.get(name))]),
        ...[...withheld].sort(byName),
      ])
    }
    case 'array': {
      const before = kindOf(replaced) === 'array' ? elements(replaced) : []
      return `[${elements(text)
        .map((raw, index) => withKeptSecrets(raw, before[index]))
        .join(',')}]`
    }
    default:
      return text
  }
}

/** Only the write-only members, with their paths: equal for two texts with the same secrets. */
export function secretsOf(text: string, path = ''): string[] {
  switch (kindOf(text)) {
    case 'object': {
      const { shown, withheld } = split(text)
      return [
        ...[...withheld].map(([name, raw]) => `${path}/${JSON.stringify(name)}:${raw}`),
        ...[...shown].flatMap(([name, raw]) => secretsOf(raw, `${path}/${JSON.stringify(name)}`)),
      ].sort()
    }
    case 'array':
      return elements(text).flatMap((raw, index) => secretsOf(raw, `${path}/${index}`))
    default:
      return []
  }
}

type Member = [name: string, raw: string]

/** The members of an object that are shown, and those that are write-only. */
function split(object: string): { shown: Map<string, string>; withheld: Map<string, string> } {
  const shown = new Map<string, string>()
  const withheld = new Map<string, string>()
  for (const [name, raw] of members(object)) (isWriteOnly(name) ? withheld : shown).set(name, raw)
  return { shown, withheld }
}

const byName = ([a]: Member, [b]: Member): number => (a < b ? -1 : 1)

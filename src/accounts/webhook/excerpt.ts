/** Characters of a refusing answer that the login log keeps. */
export const EXCERPT_CHARACTERS = 200
/** Bytes of the answer that are read for the excerpt. */
export const EXCERPT_BYTES = 1_024
/** A run of this many characters that the answer shares with a secret is left out. */
const RUN = 8
/** Shorter secrets occur in answers by chance. */
const MIN_SECRET = 6
/** The most characters of secrets that are searched for. With more, there is no excerpt. */
const MAX_SECRETS = 64 * 1_024

/**
 * The beginning of a webhook's answer, for the people who run the webhook. Null when it is not text. An answer can
 * repeat the request: each part that it shares with a secret, or with a text or long number of `customData` (which can
 * be credentials of the player), is replaced by `…`.
 */
export function excerptOf(bytes: Uint8Array, customData: string, secrets: readonly string[]): string | null {
  if (bytes.length === 0) return null
  const isCut = bytes.length >= EXCERPT_BYTES
  const decoded = new TextDecoder().decode(bytes)
  // The end of a cut text can hold part of a character, or the beginning of a secret too short to recognize.
  const text = isCut ? decoded.slice(0, -RUN) : decoded
  if (text.includes('\ufffd')) return null
  const forms = formsOf([...secrets, ...textsOf(JSON.parse(customData)), ...(customData.match(/\d{6,}/g) ?? [])])
  if (forms.reduce((sum, { length }) => sum + length, 0) > MAX_SECRETS) return null
  const clean = without(text, forms)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
  return clean === '' ? null : [...clean].slice(0, EXCERPT_CHARACTERS).join('')
}

/**
 * The excerpt of an answer that accepts a player, without the values of its profile and its data, for the login log. The
 * text need not be whole, nor JSON.
 */
export const withoutValues = (excerpt: string): string =>
  excerpt.replace(/("data"\s*:\s*\{).*$/s, '$1…').replaceAll(/(:\s*)"(?:[^"\\]|\\.)*"?/g, '$1"…"')

function without(text: string, secrets: readonly string[]): string {
  const isSecret = new Array<boolean>(text.length).fill(false)
  const starts = new Map<string, number[]>()
  for (let at = 0; at + RUN <= text.length; at += 1) {
    const run = text.slice(at, at + RUN)
    const found = starts.get(run)
    if (found) found.push(at)
    else starts.set(run, [at])
  }
  for (const secret of secrets) {
    for (let at = 0; at + RUN <= secret.length; at += 1)
      for (const start of starts.get(secret.slice(at, at + RUN)) ?? []) isSecret.fill(true, start, start + RUN)
    if (secret.length >= RUN) continue
    for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1))
      isSecret.fill(true, at, at + secret.length)
  }
  let left = ''
  for (let at = 0; at < text.length; at += 1) {
    if (!isSecret[at]) left += text[at]
    else if (!isSecret[at - 1]) left += '…'
  }
  return left
}

/** The forms in which an answer may contain a secret: plain, in either kind of JSON string, and in a URL. */
function formsOf(secrets: readonly string[]): string[] {
  const forms = secrets.flatMap((secret) => {
    const inJson = JSON.stringify(secret).slice(1, -1)
    return [secret, inJson, inJson.replaceAll('/', '\\/'), encodeURIComponent(secret.toWellFormed())]
  })
  return [...new Set(forms)].filter(({ length }) => length >= MIN_SECRET)
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

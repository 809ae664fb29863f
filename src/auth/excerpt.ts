/** Characters of a refusing answer that the login log keeps. */
const MAX_CHARACTERS = 200
/** Bytes that are looked at for them. */
export const EXCERPT_BYTES = 1_024
/** Shorter texts of `customData` say little, and stand in answers by chance. */
const MIN_SECRET = 6
/** By its first characters a text of `customData` is found again, though the answer was cut. */
const HEAD = 64
const MAX_SECRETS = 1_000

/**
 * The beginning of a webhook's answer, for the people who run the webhook. Null when it is no text. It can repeat what it
 * was sent: secrets and the texts of `customData`, which can be credentials of the player, are left out.
 */
export function excerptOf(bytes: Uint8Array, customData: string, secrets: readonly string[]): string | null {
  const decoded = new TextDecoder().decode(bytes)
  // The last character can be cut.
  const text = bytes.length < EXCERPT_BYTES ? decoded : decoded.replace(/\ufffd$/, '')
  if (text.includes('\ufffd')) return null
  const clean = without(text, [...secrets, ...textsOf(JSON.parse(customData))])
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
  return clean === '' ? null : [...clean].slice(0, MAX_CHARACTERS).join('')
}

function without(text: string, secrets: readonly string[]): string {
  let left = text
  for (const secret of secrets.slice(0, MAX_SECRETS)) {
    const head = secret.slice(0, HEAD)
    for (let at = left.indexOf(head); at >= 0; at = left.indexOf(head, at + 1)) {
      let end = at + head.length
      while (end < left.length && left[end] === secret[end - at]) end += 1
      left = `${left.slice(0, at)}…${left.slice(end)}`
    }
  }
  return left
}

/** Every text in a JSON value that may be a secret, the longest first. */
function textsOf(value: unknown): string[] {
  const texts: string[] = []
  const visit = (one: unknown): void => {
    if (typeof one === 'string' && one.length >= MIN_SECRET) texts.push(one)
    else if (typeof one === 'object' && one !== null) Object.values(one).forEach(visit)
  }
  visit(value)
  return texts.sort((one, two) => two.length - one.length)
}

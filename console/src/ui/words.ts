// Numbers and names as texts.

/** The largest amount that the service keeps. */
export const MAX_INT64 = 2n ** 63n - 1n

/** A whole number with groups of digits: `12,345`. Takes the decimal strings of Int64 without rounding. */
export const number = (value: string | number | bigint): string =>
  (typeof value === 'string' ? BigInt(value) : value).toLocaleString('en-US')

/** A sum of figures, which may be beyond what a card has room for: `9.22E18`. */
export const figure = (value: number): string =>
  Math.abs(value) < 1e15
    ? number(value)
    : value.toLocaleString('en-US', { notation: 'scientific', maximumFractionDigits: 2 })

/** A name with the characters that turn the direction of text, which would show it reversed, as signs to see. */
export const plainName = (name: string): string =>
  name.replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, (sign) => `⟨U+${sign.charCodeAt(0).toString(16).toUpperCase()}⟩`)

/** A share of 0 to 1 as text. A dash for null. */
export const percent = (share: number | null): string =>
  share === null ? '–' : `${(share * 100).toLocaleString('en-US', { maximumFractionDigits: 1 })} %`

/** An enum's value in words: `LEVEL_NOT_REACHED` is `level not reached`. */
export const words = (value: string): string => value.toLowerCase().replaceAll('_', ' ')

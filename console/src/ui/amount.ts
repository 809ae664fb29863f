/**
 * Reads a whole amount above 0 as it is written in a language, such as `5000`, `5,000` or `5 000`, into digits alone. Null
 * for any other text, and for one that means different amounts: `5,000` is five where a comma is the decimal sign.
 */
export function readAmount(text: string, language: string): string | null {
  // Spaces and apostrophes separate groups of digits alone.
  const [whole, ...groups] = text.trim().split(/(?:(?<=\d)[\s_'’](?=\d))|[.,]/)
  const signs = new Set(text.trim().match(/[^\d]/g))
  if (whole === undefined || !/^\d+$/.test(whole) || signs.size > 1) return null
  const isGrouped = groups.length === 0 || (whole.length <= 3 && groups.every((group) => /^\d{3}$/.test(group)))
  if (!isGrouped) return null
  const [sign] = signs
  // A number has one decimal sign at most, so several are between groups.
  if ((sign === ',' || sign === '.') && groups.length === 1 && sign !== groupSign(language)) return null
  const digits = [whole, ...groups].join('').replace(/^0+(?=\d)/, '')
  return digits === '0' ? null : digits
}

/** What is wrong with an amount, in a sentence. Undefined for one that can be read. */
export function amountFault(text: string, language: string): string | undefined {
  if (readAmount(text, language) !== null) return undefined
  return /^\d{1,3}[.,]\d{3}$/.test(text.trim())
    ? `${text.trim()} can mean two amounts. Enter it without the ${text.includes(',') ? 'comma' : 'point'}.`
    : 'Enter a whole number above 0.'
}

const groupSign = (language: string): string | undefined =>
  new Intl.NumberFormat(language).formatToParts(12_345).find(({ type }) => type === 'group')?.value

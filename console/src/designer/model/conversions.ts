import type { Value } from '../text/json-edit.ts'
import { itemsOf, type JsonNode, stringOf, valueAt } from '../text/json-tree.ts'

// Currencies that end with a season, as people write them in one field: `tickets to gold 1:10, stars`.

export const CONVERSIONS_HINT = 'Such as tickets to gold 1:10, stars: one gold for ten tickets, and stars expire.'

const ONE = /^([^\s,]+)(?:\s+to\s+([^\s,]+)\s+(\d+:\d+))?$/

export const conversionsText = (list: JsonNode | undefined): string =>
  itemsOf(list)
    .map((item) => {
      const [currency, to, rate] = ['currency', 'to', 'rate'].map((name) => stringOf(valueAt(item, name)))
      return [currency ?? '?', ...(to === undefined ? [] : ['to', to]), ...(rate === undefined ? [] : [rate])].join(' ')
    })
    .join(', ')

/** Reads the short form. Undefined for any other text. */
export function readConversions(text: string): Value[] | undefined {
  const parts = text.split(',').map((part) => ONE.exec(part.trim()))
  if (parts.some((part) => part === null)) return undefined
  return parts.map((part) => {
    const [, currency = '', to, rate] = part ?? []
    return to === undefined || rate === undefined ? { currency } : { currency, to, rate }
  })
}

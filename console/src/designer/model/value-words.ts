import { canonical, type JsonNode } from '../text/json-tree.ts'

const MAX_VALUE = 120

export function valueText(node: JsonNode | undefined): string {
  if (node === undefined) return 'nothing'
  const text = canonical(node)
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text
}

/** The digits of an integer in groups; any other text as it is. */
export const integer = (text: string): string => (/^-?\d+$/.test(text) ? BigInt(text).toLocaleString('en-US') : text)

import { elements, kindOf, members } from '../../base/json.ts'

/** The member that an odd body has in addition. Its values change when JSON is parsed and printed again. */
export const ODD_MEMBER = 'tierwayOddBody'
const ODD_VALUE = '{ "float" : 1.0 , "exponent" : 1e3 , "long" : 76561198000000001 , "escapes" : "\\u0041\\/\\u00e9" }'

/**
 * An object with the same values in another notation: with spaces, with escapes in its texts and names, and with one
 * more member. Only a receiver that reads the bytes as they are verifies its signature.
 */
export function oddBodyOf(customData: string): string {
  const own = [...members(customData)].map(([name, raw]) => `${escaped(JSON.stringify(name))} : ${oddly(raw)}`)
  return `{ ${[...own, `"${ODD_MEMBER}" : ${ODD_VALUE}`].join(' , ')} }`
}

function oddly(raw: string): string {
  switch (kindOf(raw)) {
    case 'object':
      return `{ ${[...members(raw)].map(([name, value]) => `${escaped(JSON.stringify(name))} : ${oddly(value)}`).join(' , ')} }`
    case 'array':
      return `[ ${elements(raw).map(oddly).join(' , ')} ]`
    case 'string':
      return escaped(raw)
    default:
      return raw
  }
}

/** A string in JSON with its first character as an escape, unless it is one already. */
function escaped(raw: string): string {
  const first = raw.charCodeAt(1)
  if (raw.length < 3 || raw[1] === '\\') return raw
  return `"\\u${first.toString(16).padStart(4, '0')}${raw.slice(2)}`
}

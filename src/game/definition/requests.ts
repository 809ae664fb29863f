import { trimJson } from '../../base/json.ts'
import { anyText, mapped } from '../../declare/shape.ts'

export const DEFINITION = 'The definition as JSON text, so that nothing of it is rounded.'

/**
 * Stored without the white space of JSON around it, as over REST. Parsing the definition reports its faults, such as a
 * byte order mark, with the place of each.
 */
export const definitionText = mapped(anyText(DEFINITION), trimJson)

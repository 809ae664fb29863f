import { formatJson } from '../designer/text/json-edit.ts'
import { parseJson } from '../designer/text/json-tree.ts'

/** JSON on several lines. Numbers, escapes and the order of members stay as they are. */
export function indentedJson(text: string): string {
  const { root } = parseJson(text)
  return root === undefined ? text : formatJson(text, root).trimEnd()
}

import { readInt } from '../base/json.ts'
import type { Field, Fields } from './shape.ts'
import type { Source } from './source.ts'

/** Whether the parameter of a field may come more than once: each time with one element of its list. */
export const isRepeated = ({ type }: Field<unknown>): boolean =>
  type === 'Strings' || type === 'IDs' || (typeof type === 'object' && 'listOf' in type)

const FLAGS: Readonly<Record<string, boolean>> = { true: true, false: false }

/** The parameters of a URL, read by the fields of a shape. An empty one counts as absent. */
export class QuerySource implements Source {
  private readonly query: URLSearchParams
  private readonly fields: Fields

  constructor(query: URLSearchParams, fields: Fields) {
    this.query = query
    this.fields = fields
  }

  value(name: string): unknown {
    const field = this.fields[name]
    if (field && isRepeated(field)) {
      const given = this.query.getAll(name).filter((one) => one !== '')
      return given.length === 0 ? undefined : given
    }
    const text = this.query.get(name) || undefined
    return field?.type === 'Boolean' && text !== undefined ? (FLAGS[text] ?? text) : text
  }

  integer(name: string): bigint | undefined {
    return readInt(this.query.get(name) ?? '')
  }

  objectText(): undefined {
    return undefined
  }

  object(): undefined {
    return undefined
  }

  objects(): undefined {
    return undefined
  }
}

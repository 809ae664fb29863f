import { isCleanText } from '../base/json.ts'
import { checked, type Field, field, mustBeOneOf, orGlobal, UUID } from './shape.ts'

/** The form of each text in a list. */
interface Form {
  readonly pattern: RegExp
  readonly maxLength: number
  readonly message: string
}

/** A list of texts, each of this form, or any without one. */
export function texts(
  description: string,
  {
    min = 0,
    max,
    form,
    empty = 'must not be empty: leave it out for all',
  }: { min?: number; max: number; form?: Form; empty?: string },
): Field<readonly string[]> {
  const items = { type: 'string', ...(form && { pattern: form.pattern.source, maxLength: form.maxLength }) }
  const schema = { type: 'array', items, ...(min > 0 && { minItems: min }), maxItems: max }
  return field<readonly string[]>(description, { schema, type: 'Strings', standIn: [] }, (source, name, fault) => {
    const list = source.value(name)
    if (!Array.isArray(list)) fault('must be a list of strings')
    else if (list.length > max) fault(`must have at most ${max} elements`)
    else if (list.length < min) fault(empty)
    else
      return list.map((element: unknown, index) => {
        const message = faultOfText(element, form)
        if (message === undefined) return element as string
        fault(message, `${name}[${index}]`)
        return ''
      })
    return []
  })
}

function faultOfText(element: unknown, form: Form | undefined): string | undefined {
  if (typeof element !== 'string') return 'must be a string'
  if (!isCleanText(element)) return 'must not contain NUL or a lone surrogate'
  if (!form || (form.pattern.test(element) && element.length <= form.maxLength)) return undefined
  return form.message
}

/** At least one of these texts, or `min`. In GraphQL it is a list of the enum of the same list. */
export const someOf = (
  description: string,
  values: readonly string[],
  { min = 1 }: { readonly min?: number } = {},
): Field<readonly string[]> => {
  const items = { type: 'string', enum: values }
  return {
    ...checked(texts(description, { min, max: values.length }), (sent) =>
      sent.flatMap((value, index) =>
        values.includes(value) ? [] : [{ path: `[${index}]`, message: mustBeOneOf(values) }],
      ),
    ),
    schema: { type: 'array', items, ...(min > 0 && { minItems: min }), maxItems: values.length },
    type: { listOf: values },
  }
}

/** A list of ids of objects of this type, plain or global. */
export const uuids = (
  description: string,
  { type, ...limits }: { readonly type: string; readonly min?: number; readonly max: number },
): Field<readonly string[]> => {
  const form = { pattern: UUID, maxLength: 36, message: 'must be an id' }
  return orGlobal({ ...texts(description, { ...limits, empty: 'must not be empty', form }), type: 'IDs' }, type)
}

import { TierwayError } from './error.ts'
import { parseExact } from './json.ts'
import { isObject, type Shape, type ShapeOf } from './shape.ts'
import type { Reader } from './transport.ts'

/** Reads answers of this shape. */
export const readerOf =
  <Answer>(shape: ShapeOf<Answer>) =>
  (text: string, status: number): Answer =>
    readAs(shape, parsed(text, status))

/** Reads the answer of a call that answers nothing. A body with status 200, even an empty one, is another's answer. */
export const readNothing: Reader<void> = (_text, status) => {
  if (status !== 204) throw invalidAnswer('the answer did not come from the service: it is not empty', status)
}

export function parsed(text: string, status = 200): unknown {
  try {
    return parseExact(text)
  } catch (error) {
    throw invalidAnswer('the answer did not come from the service: it is not JSON', status, error)
  }
}

/** Reads an answer. Something that has another shape did not come from the service: throws `invalid_answer`. */
export function readAs<Answer>(shape: ShapeOf<Answer>, value: unknown): Answer {
  return read(value, shape, '') as Answer
}

/** The error for an answer that did not come from the service. The service may answer the next attempt. */
export function invalidAnswer(message: string, status = 200, cause?: unknown): TierwayError {
  return new TierwayError({ code: 'invalid_answer', message, status, retryable: true, cause })
}

function read(value: unknown, shape: Shape, path: string): unknown {
  if (typeof shape === 'string') {
    if (shape === 'int64') {
      if (typeof value === 'bigint') return value
      if (Number.isSafeInteger(value) || (typeof value === 'string' && /^-?\d+$/.test(value)))
        return BigInt(value as number | string)
    } else if (
      shape === 'integer' ? Number.isSafeInteger(value) : shape === 'object' ? isObject(value) : typeof value === shape
    )
      return value
  } else if ('orNull' in shape) return value === null ? null : read(value, shape.orNull, path)
  else if ('ifPresent' in shape) return value === undefined ? undefined : read(value, shape.ifPresent, path)
  else if ('list' in shape) {
    if (Array.isArray(value)) return value.map((item, index) => read(item, shape.list, `${path}[${index}]`))
  } else if (isObject(value)) {
    const found = { ...value }
    for (const [name, member] of Object.entries(shape.members)) {
      const own = read(value[name], member, path === '' ? name : `${path}.${name}`)
      if (own !== undefined) found[name] = own
    }
    return found
  }
  throw invalidAnswer(`the answer did not come from the service: ${path || 'it'} is not as expected`)
}

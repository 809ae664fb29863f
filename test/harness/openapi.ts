import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { openapi } from '../../src/serve/openapi/document.ts'
import type { Answer } from './game.ts'

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
ajv.addSchema(openapi, 'openapi')
const validators = new Map<string, ValidateFunction>()

/** Fails unless an answer matches the OpenAPI document. Every REST answer of every `Game` goes through here. */
export function checkAnswer(method: string, path: string, { status, body, text }: Answer): void {
  const pattern = findPath(path.split('?', 1)[0] ?? path)
  const response = pattern === undefined ? undefined : responseOf(pattern, method, status)
  if (pattern && !response && status !== 405)
    throw new Error(`${method} ${path} answered an undescribed ${status}: ${text}`)
  if (status === 204 || status === 304) {
    if (text !== '') throw new Error(`${method} ${path} answered ${status} with a body: ${text}`)
    return
  }
  // A refusal of every path refers to its description, and is an error like any other. Lines of JSON are described by
  // what one of them is.
  const [type = ''] = Object.keys(response?.content ?? {})
  const pointer =
    pattern !== undefined && type !== ''
      ? `openapi#/paths/${escapePointer(pattern)}/${method.toLowerCase()}/responses/${status}/content/${escapePointer(type)}/schema`
      : 'openapi#/components/schemas/Error'
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: pointer })
  validators.set(pointer, validate)
  const values =
    type === 'application/x-ndjson'
      ? text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line))
      : [type === 'text/csv' ? text : body]
  if (!values.every((value) => validate(value)))
    throw new Error(`${method} ${path} answered ${text}, against its description: ${ajv.errorsText(validate.errors)}`)
}

type Paths = Record<string, Record<string, { responses: Record<number, { content?: Record<string, unknown> }> }>>

function findPath(path: string): string | undefined {
  return Object.keys(openapi.paths).find((pattern) =>
    new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
}

const responseOf = (pattern: string, method: string, status: number) =>
  (openapi.paths as unknown as Paths)[pattern]?.[method.toLowerCase()]?.responses[status]

const escapePointer = (pattern: string): string =>
  encodeURIComponent(pattern.replaceAll('~', '~0').replaceAll('/', '~1'))

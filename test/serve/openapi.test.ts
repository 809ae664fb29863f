import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { REFUSALS } from '../../src/base/errors.ts'
import { routes } from '../../src/routes.ts'
import { openapi } from '../../src/serve/openapi/document.ts'

type Json = Record<string, unknown>

interface Media {
  readonly schema: Json
  readonly example?: unknown
  readonly examples?: Record<string, { value: Json }>
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security: readonly Record<string, unknown>[]
  readonly parameters?: readonly { in: string; name: string; description?: string }[]
  readonly requestBody?: { content: Record<string, Media> }
  readonly responses: Record<string, { description: string; content?: Record<string, Media> }>
}

const operations = Object.entries({ ...openapi.paths, ...openapi.webhooks }).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    path,
    name: `${method.toUpperCase()} ${path}`,
    operation: operation as unknown as Operation,
  })),
)
const JSON_TYPE = 'application/json'
const ANYWHERE = { 405: 'MethodNotAllowed', 408: 'RequestTimeout', 417: 'ExpectationFailed', 431: 'HeadersTooLarge' }

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
ajv.addSchema(openapi, 'openapi')

/** The faults of a value, by a schema of the document. */
function faultsOf(name: string, value: unknown): string {
  const validate = ajv.compile({ $ref: `openapi#/components/schemas/${name}` })
  return validate(value) ? '' : ajv.errorsText(validate.errors)
}

const nameOf = ({ $ref }: Json): string | undefined => (typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined)

describe('openapi.json', () => {
  it('has every route with its credentials, and unique operation ids', () => {
    const described = new Map(operations.map(({ name, operation }) => [name, operation]))
    for (const { method, path } of routes) {
      const operation = described.get(`${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`)
      expect([path, operation?.security.flatMap((scheme) => Object.keys(scheme)).sort()]).toEqual([path, callers(path)])
    }
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length)
  })

  const callers = (path: string): string[] => {
    if (path.startsWith('/platform/')) return ['platformKey']
    if (path.startsWith('/server/')) return ['serverKey']
    if (path.endsWith('/link') || path.endsWith('/switch')) return ['playerToken', 'sdkKey']
    return path.startsWith('/sdk/v1/authorization/') ? ['sdkKey'] : ['playerToken']
  }

  it('defines the tags and security schemes of every operation, and describes every parameter', () => {
    const tags = new Set(openapi.tags.map(({ name }) => name))
    for (const { name, operation } of operations) {
      expect([name, operation.tags.filter((tag) => !tags.has(tag))]).toEqual([name, []])
      for (const scheme of operation.security.flatMap((one) => Object.keys(one)))
        expect(openapi.components.securitySchemes).toHaveProperty(scheme)
      for (const parameter of operation.parameters ?? [])
        expect([name, parameter.name, parameter.description]).toEqual([name, parameter.name, expect.any(String)])
    }
  })

  it('names each parameter of a path', () => {
    for (const { path, name, operation } of operations) {
      const places = [...path.matchAll(/\{(\w+)\}/g)].map(([, place]) => place)
      const named = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')
      expect([name, named.map((parameter) => parameter.name)]).toEqual([name, places])
    }
  })

  it('shows an example of every request and answer, which is valid by its schema', () => {
    for (const { name, operation } of operations) {
      const bodies = [operation.requestBody, operation.responses['200']]
      for (const media of bodies.flatMap((body) => body?.content?.[JSON_TYPE] ?? [])) {
        const schema = nameOf(media.schema)
        if (schema === undefined || schema === 'JsonWebKeySet') continue
        expect([name, faultsOf(schema, media.example)]).toEqual([name, ''])
      }
    }
  })

  it('shows each refusal with the status, text and code that the service sends', () => {
    const texts = new Map<string, number>(Object.values(REFUSALS).map(([status, words]) => [words, status]))
    let shown = 0
    for (const { name, operation } of operations) {
      for (const [status, { content }] of Object.entries(operation.responses)) {
        for (const [code, { value }] of Object.entries(content?.[JSON_TYPE]?.examples ?? {})) {
          expect([name, faultsOf('Error', value)]).toEqual([name, ''])
          expect([name, value.code, texts.get(String(value.error))]).toEqual([name, code, Number(status)])
          shown += 1
        }
      }
    }
    expect(shown).toBeGreaterThan(100)
  })

  it('has the refusals that come before every call, each with a description and an example', () => {
    const { responses } = openapi.components
    const ours = operations.filter(({ path }) => path.startsWith('/'))
    for (const [status, name] of Object.entries(ANYWHERE)) {
      const $ref = `#/components/responses/${name}`
      for (const { name, operation } of ours) expect([name, operation.responses[status]]).toEqual([name, { $ref }])
      const { description, content } = responses[name] as unknown as Operation['responses'][string]
      expect(description).toMatch(/^The .*\.$/)
      const [[code, example] = []] = Object.entries(content?.[JSON_TYPE]?.examples ?? {})
      expect([example?.value.code, faultsOf('Error', example?.value)]).toEqual([code, ''])
      expect(Object.values(REFUSALS)).toContainEqual([Number(status), example?.value.error])
    }
    expect(Object.keys(responses).sort()).toEqual(Object.values(ANYWHERE).sort())
  })

  it('describes every answer, and refers only to schemas that exist, and has no unused schema', () => {
    const text = JSON.stringify(openapi)
    const names = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name ?? '')
    expect(names.filter((name) => !(name in openapi.components.schemas))).toEqual([])
    expect(Object.keys(openapi.components.schemas).filter((name) => !names.includes(name))).toEqual([])
    for (const { name, operation } of operations)
      for (const [status, answer] of Object.entries(operation.responses))
        expect([name, status, '$ref' in answer || answer.description.length > 4]).toEqual([name, status, true])
  })
})

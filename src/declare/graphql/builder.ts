import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import type { RawJson } from '../../base/json.ts'
import { MAX_PAGE } from '../../base/limits.ts'
import { momentFault, parseMoment } from '../../base/moment.ts'
import type PrismaTypes from '../../db/generated/pothos.ts'
import { getDatamodel } from '../../db/generated/pothos.ts'
import type { Context } from './context.ts'
import { DEFAULT_SIZE } from './page.ts'
import './pages-plugin.ts'
import './descriptions.ts'
import './roots-plugin.ts'
import { parseInt64, parseInt64Literal, parseObject, parseObjectLiteral, plainJson } from './scalars.ts'

/** The builder of the GraphQL schema. Types are in the features' `graphql.ts`; `schema.ts` lists these files. */
export const builder = new SchemaBuilder<{
  Context: Context
  PrismaTypes: PrismaTypes
  DefaultFieldNullability: false
  Scalars: {
    ID: { Input: string; Output: string }
    Int64: { Input: bigint; Output: bigint }
    Count: { Input: never; Output: number | bigint }
    DateTime: { Input: Date; Output: Date | string }
    JSON: { Input: never; Output: RawJson }
    JSONObject: { Input: RawJson; Output: never }
  }
}>({
  plugins: ['roots', 'pages', PrismaPlugin, RelayPlugin, 'descriptions'],
  defaultFieldNullability: false,
  relay: { clientMutationId: 'omit', cursorType: 'String', nodesOnConnection: true },
  prisma: {
    client: (context) => context.prisma,
    dmmf: getDatamodel(),
    exposeDescriptions: true,
    filterConnectionTotalCount: false,
    maxConnectionSize: MAX_PAGE,
    defaultConnectionSize: DEFAULT_SIZE,
    onUnusedQuery: process.env.NODE_ENV === 'test' ? 'error' : null,
  },
})

builder.queryType({ description: 'Operations that read.' })
builder.mutationType({
  description:
    'Operations that change something. Those of players have the same outcomes as the REST endpoints. A refused one is null, and the others of its operation keep their payloads.',
})
builder.subscriptionType({ description: 'Live events, optionally from a cursor on.' })

builder.scalarType('Int64', {
  description: 'A 64-bit integer: a decimal string in answers; a decimal string or an integer in requests.',
  serialize: (value) => value.toString(),
  parseValue: parseInt64,
  parseLiteral: parseInt64Literal,
})

builder.scalarType('Count', {
  description: 'A number of things: a whole number up to 2^53, as a JSON number. Only in answers.',
  serialize: (value) => Number(value),
  parseValue: () => {
    throw new TypeError('Count is given in answers only')
  },
})

builder.scalarType('DateTime', {
  description: 'A date and time in RFC 3339, in UTC.',
  serialize: (value) => (typeof value === 'string' ? value : value.toISOString()),
  parseValue: parseDateTime,
})

builder.scalarType('JSON', {
  description:
    'Any JSON value. Integers beyond 2^53, and numbers beyond a double, are decimal strings. Only in answers.',
  serialize: (value) => plainJson(value),
  parseValue: () => {
    throw new TypeError('JSON is given in answers only')
  },
})

builder.scalarType('JSONObject', {
  description:
    'A JSON object: an object, or its text as a string. Both keep every digit, key and order as sent. Only in requests.',
  serialize: () => {
    throw new TypeError('JSONObject is taken in requests only')
  },
  parseValue: parseObject,
  parseLiteral: parseObjectLiteral,
})

function parseDateTime(value: unknown): Date {
  const text = typeof value === 'string' ? value : ''
  const moment = parseMoment(text)
  if (!moment) throw new TypeError(`DateTime ${momentFault(text)}`)
  return moment
}

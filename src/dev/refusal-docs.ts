import type { GraphQLSchema } from 'graphql'
import { nameNow } from '../declare/graphql/field-marks.ts'
import { refusalsOf } from '../declare/graphql/refusals.ts'
import { code, tableOf, withPrinted } from './operator-call-docs.ts'

/** The page with the table of what each mutation can answer as `error`. Not part of the service. */
export function withRefusalTable(page: string, schema: GraphQLSchema): string {
  const rows = new Map<string, { mutations: string[]; type: string; values: readonly string[] }>()
  for (const mutation of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    if (nameNow(mutation) !== mutation.name) continue
    const refusals = refusalsOf(mutation)
    if (!refusals) continue
    const { type, values } = refusals
    const key = [type, ...values].join(' ')
    const row = rows.get(key) ?? { mutations: [], type, values }
    rows.set(key, row)
    row.mutations.push(mutation.name)
  }
  const cells = [...rows.values()]
    .map(({ mutations, ...row }) => ({ ...row, mutations: mutations.sort() }))
    .sort((one, other) =>
      one.type < other.type ? -1 : one.type > other.type ? 1 : other.values.length - one.values.length,
    )
    .map(({ mutations, type, values }) => [code(type), mutations.map(code).join(' '), values.map(code).join(' ')])
  return withPrinted(page, { 'refusals of mutations': tableOf([['enum', 'mutations', 'values'], ...cells]) })
}

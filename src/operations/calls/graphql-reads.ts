import type { InputFieldMap } from '@pothos/core'
import { requirePlatform } from '../../callers/access.ts'
import { memberOf } from '../../declare/answer.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { connectionOf } from '../../declare/graphql/connections.ts'
import type { Context } from '../../declare/graphql/context.ts'
import { nodesOf } from '../../declare/graphql/node.ts'
import { pageOf } from '../../declare/graphql/page.ts'
import { argsOf, inputOf, outputOf } from '../../declare/graphql/shapes.ts'
import type { ListRead, OperatorRead, ValueRead } from '../../declare/operator-read.ts'
import type { Fields } from '../../declare/shape.ts'
import { InputSource } from '../../declare/source.ts'
import { inputName, keptField, tableOf } from './graphql.ts'
import { admitRead, type RestRead } from './run-read.ts'

type Value = ValueRead<Fields, unknown>
/** All models have the same functions. */
type List = ListRead<Fields, 'Boost'>

/** Makes a query of each declared one. */
export function addQueries(reads: readonly OperatorRead[]): void {
  for (const read of reads) {
    if (!('rows' in read)) {
      addValue(read)
      continue
    }
    const list = read as List
    if (list.pagedBy === undefined) addList(list)
    else addConnection(list, list.pagedBy)
    if (list.nodesIn) addNodes(list, list.nodesIn)
  }
}

function optionsOf(read: OperatorRead) {
  const { name, summary, request, hasInput, cost } = read
  const args = hasInput ? inputOf(inputName(name), request) : argsOf(request)
  return {
    description: summary,
    args: args as InputFieldMap,
    extensions: { cost, size: 'rows' in read ? read.size : undefined },
  }
}

/** What a query is read with, by its arguments, or by a request of REST. */
function admit(read: OperatorRead, args: object, context: Context & Partial<RestRead>) {
  const { service, asked } = context
  if (asked) return admitRead(read, { access: context, service, ...asked })
  const sent = read.hasInput ? (args as { readonly input: object }).input : args
  return admitRead(read, { access: context, service, source: new InputSource(sent) })
}

function addValue(read: Value): void {
  const { name } = read
  const answer = memberOf(read.answer)
  const kept = keptField(name, answer)
  const options = { ...optionsOf(read), nullable: answer.isNullable ?? false }
  const readFor = async (args: object, context: Context) => read.read(...(await admit(read, args, context)))
  builder.queryField(name, (t) => {
    if (!kept) {
      const resolve = (_root: object, args: object, context: Context) => readFor(args, context)
      return t.field({ ...options, type: outputOf(answer.type), resolve } as never)
    }
    const resolve = async (query: object, _root: object, args: object, context: Context) =>
      kept.resolve(query, { [name]: await readFor(args, context) }, args, context)
    return t.prismaField({ ...options, type: kept.type, resolve } as never)
  })
}

function addList(list: List): void {
  const { name, rows } = list
  builder.queryField(name, (t) =>
    t.prismaField({
      ...optionsOf(list),
      type: [rows],
      resolve: async (query, _root, args, context) => {
        const where = await list.where(...(await admit(list, args, context)))
        return tableOf(context.prisma, rows).findMany({ ...query, where, orderBy: { name: 'asc' } })
      },
    }),
  )
}

function addConnection(list: List, key: string): void {
  const { name, rows, hasNamesAsIds } = list
  const columns = key.split('_').slice(0, -1)
  const order = hasNamesAsIds ? ({ order: 'asc', ids: 'names' } as const) : ({ order: 'desc' } as const)
  builder.queryField(name, (t) =>
    t.prismaConnection(
      {
        ...optionsOf(list),
        // A list that the caller may not read is null. The rest of the answer is complete.
        nullable: list.right !== 'read',
        type: rows,
        cursor: key as 'id',
        resolve: async (query, _root, args, context) => {
          const where = await list.where(...(await admit(list, args, context)))
          const scope = Object.fromEntries(columns.map((column) => [column, where[column as 'id'] as string]))
          const { page, beyond } = pageOf(query, { ...order, scope })
          return tableOf(context.prisma, rows).findMany({ ...page, where: { ...where, ...beyond } })
        },
      },
      connectionOf(rows) as never,
    ),
  )
}

function addNodes({ rows, right, denied }: List, nodesIn: NonNullable<List['nodesIn']>): void {
  nodesOf(rows, ['uuid'], async (context, [id = '']) => {
    const { projectId } = await requirePlatform(context, right, denied)
    return tableOf(context.prisma, rows).findFirst({ where: { id, ...nodesIn(projectId) } })
  })
}

import type { Pool } from 'pg'
import { requirePlatform } from '../../callers/access.ts'
import { findEnvironment } from '../../callers/projects.ts'
import { printCursor, readCursor } from '../../declare/cursor.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import type { Context } from '../../declare/graphql/context.ts'
import { NodeType, nodesOf } from '../../declare/graphql/node.ts'
import { forwardPage, namesOf, readList } from '../../declare/graphql/page.ts'
import { argsOf } from '../../declare/graphql/shapes.ts'
import { findOwnEnvironment } from '../../players/graphql-readable.ts'
import { type Currency, type Item, listCurrencies, listItems } from './currencies.ts'
import { assetsRequest } from './requests.ts'

type InEnvironment<T> = T & { readonly environment: string }

const CurrencyType = builder.objectRef<InEnvironment<Currency>>('Currency').implement({
  description: 'A currency that an environment knows: a current scenario names it, or an admin added it.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ environment, name }) => globalId('Currency', environment, name) }),
    name: t.exposeString('name', { description: 'The name, as in wallets.' }),
    isAdded: t.exposeBoolean('isAdded', { description: 'True when an admin added it with `addCurrency`.' }),
    creditLimit: t.expose('creditLimit', {
      type: 'Int64',
      nullable: true,
      description: 'The largest amount that an operator can credit in one call. Null without a limit.',
    }),
    scenarioIds: t.stringList({
      description: 'The scenarios whose current version grants or charges it, by id.',
      resolve: ({ scenarioIds }) => [...scenarioIds],
    }),
  }),
})

const ItemType = builder.objectRef<InEnvironment<Item>>('Item').implement({
  description: 'An item that a current scenario of an environment grants.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ environment, itemId }) => globalId('Item', environment, itemId) }),
    itemId: t.exposeString('itemId', { description: 'The id, as in inventories.' }),
    scenarioIds: t.stringList({
      description: 'The scenarios whose current version grants it, by id.',
      resolve: ({ scenarioIds }) => [...scenarioIds],
    }),
  }),
})

/** A page of a list that is read as a whole, in the order of its names. */
async function pageOf<T>(
  context: Context,
  args: object,
  list: { readonly name: string; read(pool: Pool, environmentId: string): Promise<T[]>; nameOf(entry: T): string },
) {
  const { projectId } = await requirePlatform(context, 'read')
  const { environment, size, after } = readList(assetsRequest, args, (cursor) => readCursor(list.name, cursor))
  const environmentId = await findEnvironment(context.service.pool, projectId, environment)
  const all = await list.read(context.service.operatorPool, environmentId)
  const found = all.filter((entry) => after === null || list.nameOf(entry) > after).slice(0, size + 1)
  const placed = found.map((entry) => ({ ...entry, environment }))
  const page = forwardPage(placed, { size, after }, (entry) => printCursor(list.name, list.nameOf(entry)))
  return { ...page, totalCount: all.length }
}

const totalOf = (connection: unknown): number => (connection as { totalCount: number }).totalCount

builder.queryFields((t) => ({
  currencies: t.connection(
    {
      type: CurrencyType,
      description:
        'The currencies that an environment knows, by name. `creditWallet` refuses others unless `allowNew` is true.',
      args: argsOf(assetsRequest),
      resolve: (_root, args, context) =>
        pageOf(context, args, { name: 'currency', read: listCurrencies, nameOf: ({ name }) => name }),
    },
    {
      ...namesOf('Currency')[0],
      fields: (t) => ({
        totalCount: t.field({ type: 'Count', description: 'The length of the whole list.', resolve: totalOf }),
      }),
    },
    namesOf('Currency')[1],
  ),
  items: t.connection(
    {
      type: ItemType,
      description: 'The items that the current scenarios of an environment grant, by id.',
      args: argsOf(assetsRequest),
      resolve: (_root, args, context) =>
        pageOf(context, args, { name: 'item', read: listItems, nameOf: ({ itemId }) => itemId }),
    },
    {
      ...namesOf('Item')[0],
      fields: (t) => ({
        totalCount: t.field({ type: 'Count', description: 'The length of the whole list.', resolve: totalOf }),
      }),
    },
    namesOf('Item')[1],
  ),
}))

/** A currency or an item by its name; null when the environment does not know it. */
async function find<T>(
  { service }: Context,
  { environment, environmentId }: { environment: string; environmentId: string },
  read: (pool: Pool, environmentId: string) => Promise<T[]>,
  isMeant: (entry: T) => boolean,
): Promise<InEnvironment<T> | null> {
  const entry = (await read(service.operatorPool, environmentId)).find(isMeant)
  return entry ? { ...entry, environment } : null
}

nodesOf('Currency', ['name', 'name'], async (context, [environment = '', name = '']) => {
  const environmentId = await findOwnEnvironment(context, environment)
  if (environmentId === null) return null
  return find(context, { environment, environmentId }, listCurrencies, (currency) => currency.name === name)
})

nodesOf('Item', ['name', 'name'], async (context, [environment = '', itemId = '']) => {
  const environmentId = await findOwnEnvironment(context, environment)
  if (environmentId === null) return null
  return find(context, { environment, environmentId }, listItems, (item) => item.itemId === itemId)
})

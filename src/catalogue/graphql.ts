import type { Pool } from 'pg'
import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { requirePlatform } from '../callers/access.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import { printCursor, readCursor } from '../declare/cursor.ts'
import { builder } from '../declare/graphql/builder.ts'
import type { Context } from '../declare/graphql/context.ts'
import { globalId } from '../declare/graphql/global-id.ts'
import { NodeType, nodesOf } from '../declare/graphql/node.ts'
import { forwardPage, namesOf, readList } from '../declare/graphql/page.ts'
import { argsOf, inputOf } from '../declare/graphql/shapes.ts'
import { findOwnEnvironment } from '../players/graphql-readable.ts'
import { findEnvironment } from '../projects/projects.ts'
import { readChange } from '../roles/graphql-change.ts'
import {
  addCurrency,
  type Changed,
  type Currency,
  type Item,
  listCurrencies,
  listItems,
  removeCurrency,
  setCreditLimit,
} from './currencies.ts'
import { addCurrencyRequest, assetsRequest, creditLimitRequest, removeCurrencyRequest } from './requests.ts'

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

interface Payload extends Audited {
  readonly environment: string
  readonly environmentId: string
  readonly name: string
}

function payloadType(name: string) {
  const payload = builder.objectRef<Payload>(name).implement({
    fields: (t) => ({
      currency: t.field({
        type: CurrencyType,
        nullable: true,
        description: 'The currency after the change. Null when the environment no longer knows it.',
        resolve: ({ environment, environmentId, name }, _args, context) =>
          find(context, { environment, environmentId }, listCurrencies, (currency) => currency.name === name),
      }),
    }),
  })
  addAuditEntry(payload, 'Null when nothing changed.')
  return payload
}

interface Sent {
  readonly environment: string
  readonly currency: string
}

/** Runs a change of the catalogue. A refused caller is in the audit log. */
async function change<Asked extends Sent>(
  context: Context,
  action: string,
  { currency: target }: Sent,
  read: () => Asked,
  apply: (pool: Pool, caller: PlatformCaller, asked: Asked & { environmentId: string }) => Promise<Changed>,
): Promise<Payload> {
  const right = action === ACTIONS.setCreditLimit ? 'manage' : 'design'
  const { caller, asked } = await readChange(context, right, { action, target }, read)
  const { environment, environmentId } = asked
  const { name, auditId } = await apply(context.service.operatorPool, caller, asked)
  return { environment, environmentId, name, audit: auditRef(caller, auditId) }
}

builder.mutationFields((t) => ({
  addCurrency: t.field({
    type: payloadType('AddCurrencyPayload'),
    description: 'Adds a currency that no scenario names, so that operators can credit it.',
    args: inputOf('AddCurrencyInput', addCurrencyRequest),
    resolve: (_root, { input }, context) =>
      change(context, ACTIONS.addCurrency, input, () => addCurrencyRequest.readInput(input), addCurrency),
  }),
  removeCurrency: t.field({
    type: payloadType('RemoveCurrencyPayload'),
    description: 'Reverts `addCurrency`. Balances and the credit limit stay; a currency of a scenario stays known.',
    args: inputOf('RemoveCurrencyInput', removeCurrencyRequest),
    resolve: (_root, { input }, context) =>
      change(context, ACTIONS.removeCurrency, input, () => removeCurrencyRequest.readInput(input), removeCurrency),
  }),
  setCreditLimit: t.field({
    type: payloadType('SetCreditLimitPayload'),
    description: 'Sets the largest amount of a currency that an operator can credit in one call.',
    args: inputOf('SetCreditLimitInput', creditLimitRequest),
    resolve: (_root, { input }, context) =>
      change(context, ACTIONS.setCreditLimit, input, () => creditLimitRequest.readInput(input), setCreditLimit),
  }),
}))

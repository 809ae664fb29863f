import { distance } from 'fastest-levenshtein'
import type { ClientBase, Pool } from 'pg'
import { invalidRequest, Refusal } from '../../base/errors.ts'
import { MAX_CURRENCIES } from '../../base/limits.ts'
import { lockEnvironment } from '../../callers/projects.ts'
import type { Transaction } from '../../db/prisma.ts'
import type { Change } from '../../declare/change.ts'
import { readAssets, type Uses } from './assets.ts'

/** A currency that an environment knows: a current scenario names it, or an admin added it. */
export interface Currency {
  readonly name: string
  readonly isAdded: boolean
  /** The largest credit of an operator; null without a limit. */
  readonly creditLimit: bigint | null
  /** The scenarios whose current version names it, by id. */
  readonly scenarioIds: readonly string[]
}

/** An item that a current scenario of an environment grants. */
export interface Item {
  readonly itemId: string
  readonly scenarioIds: readonly string[]
}

/** The settings that admins made for a currency. */
interface Entry {
  readonly isAdded: boolean
  readonly creditLimit: bigint | null
}

const NO_ENTRY: Entry = { isAdded: false, creditLimit: null }

export async function listCurrencies(pool: Pool, environmentId: string): Promise<Currency[]> {
  const [{ currencies }, entries] = await Promise.all([
    readAssets(pool, environmentId),
    readEntries(pool, environmentId),
  ])
  const added = [...entries].flatMap(([name, { isAdded }]) => (isAdded ? [name] : []))
  return [...new Set([...currencies.keys(), ...added])].sort().map((name) => currencyOf(name, currencies, entries))
}

/** A currency by its name. Null when the environment does not know it. */
export async function findCurrency(pool: Pool, environmentId: string, name: string): Promise<Currency | null> {
  return (await listCurrencies(pool, environmentId)).find((currency) => currency.name === name) ?? null
}

export async function listItems(pool: Pool, environmentId: string): Promise<Item[]> {
  const { items } = await readAssets(pool, environmentId)
  return [...items].map(([itemId, scenarioIds]) => ({ itemId, scenarioIds })).sort(byItemId)
}

const byItemId = (a: Item, b: Item): number => (a.itemId < b.itemId ? -1 : 1)

function currencyOf(name: string, uses: Uses, entries: ReadonlyMap<string, Entry>): Currency {
  return { name, ...(entries.get(name) ?? NO_ENTRY), scenarioIds: uses.get(name) ?? [] }
}

/** The facts that decide whether a caller can credit a currency. */
export interface CreditRules {
  readonly isKnown: boolean
  /** The largest amount for a player at once; null without a limit. */
  readonly limit: bigint | null
  /** The known names that are most similar, the most similar first. Empty for a known currency. */
  readonly nearest: readonly string[]
}

/**
 * The rules of a currency for a caller. The credit limit of the currency holds unless it is an admin, and `most` is the
 * limit of its role, if there is one.
 */
export async function readCreditRules(
  pool: Pool | ClientBase,
  environmentId: string,
  name: string,
  { isAdmin = false, most = null }: { readonly isAdmin?: boolean; readonly most?: bigint | null } = {},
): Promise<CreditRules> {
  const [{ currencies }, entries] = await Promise.all([
    readAssets(pool, environmentId),
    readEntries(pool, environmentId),
  ])
  const { isAdded, creditLimit } = entries.get(name) ?? NO_ENTRY
  const isKnown = isAdded || currencies.has(name)
  const names = [...currencies.keys(), ...[...entries].flatMap(([known, entry]) => (entry.isAdded ? [known] : []))]
  const ofCurrency = isAdmin ? null : creditLimit
  const limit = ofCurrency !== null && most !== null && most < ofCurrency ? most : (ofCurrency ?? most)
  return { isKnown, limit, nearest: isKnown ? [] : nearestOf(name, names) }
}

/** The environment does not know the currency: often a typing mistake, so the message names the most similar. */
export class UnknownCurrency extends Refusal {
  readonly nearest: readonly string[]

  constructor(currency: string, nearest: readonly string[], path = '') {
    const message = `\`${currency}\` ${unknownMessage(nearest)}. To credit it all the same, send \`allowNew: true\`.`
    super('unknownCurrency', { faults: [{ path: `${path}currency`, message }] })
    this.nearest = nearest
  }
}

/**
 * Refuses a credit of an unknown currency, and one above the limit. `path` is the beginning of the places of both in the
 * request, such as `rewards[0].`.
 */
export function requireCredit(
  { isKnown, nearest, limit }: CreditRules,
  { currency, amount, allowNew = false }: CreditInput,
  path = '',
): void {
  if (!isKnown && !allowNew) throw new UnknownCurrency(currency, nearest, path)
  if (limit === null || amount <= limit) return
  const message = `The amount is above ${limit}, the largest that can be credited at once. An admin can credit more.`
  throw new Refusal('creditLimitExceeded', { faults: [{ path: `${path}amount`, message }] })
}

interface CreditInput {
  readonly currency: string
  readonly amount: bigint
  /** Also a currency that the environment does not know yet. */
  readonly allowNew?: boolean
}

const MAX_NEAREST = 3

/** The names with the smallest edit distance to this one, regardless of letter case. */
export function nearestOf(name: string, names: readonly string[]): string[] {
  const lower = name.toLowerCase()
  return [...new Set(names)]
    .map((known) => ({ known, far: distance(lower, known.toLowerCase()) }))
    .sort((a, b) => a.far - b.far || (a.known < b.known ? -1 : 1))
    .slice(0, MAX_NEAREST)
    .map(({ known }) => known)
}

interface Asked {
  readonly environmentId: string
  readonly currency: string
}

/** Adds a currency that no scenario names. Adding it again changes nothing. */
export const addCurrency = (transaction: Transaction, asked: Asked): Promise<Change<null>> =>
  changeEntry(transaction, asked, (entry) => ({ ...entry, isAdded: true }))

/** Deletes an added currency. Its credit limit and the balances of players stay. */
export const deleteCurrency = (transaction: Transaction, asked: Asked): Promise<Change<null>> =>
  changeEntry(transaction, asked, (entry) => ({ ...entry, isAdded: false }))

/** Sets the largest credit of an operator; null removes the limit. Refuses to limit a currency that is not known. */
export async function setCreditLimit(
  transaction: Transaction,
  { limit, ...asked }: Asked & { readonly limit: bigint | null },
): Promise<Change<null>> {
  const { environmentId, currency } = asked
  if (limit !== null) {
    const { isKnown, nearest } = await readCreditRules(transaction.client, environmentId, currency)
    if (!isKnown) throw invalidRequest({ path: 'currency', message: unknownMessage(nearest) })
  }
  return changeEntry(transaction, asked, (entry) => ({ ...entry, creditLimit: limit }))
}

export function unknownMessage(nearest: readonly string[]): string {
  const like = nearest.length === 0 ? 'it has none yet' : `the nearest are ${nearest.join(', ')}`
  return `is not a currency of this environment: ${like}`
}

async function changeEntry(
  { db, client }: Transaction,
  { environmentId, currency: name }: Asked,
  change: (entry: Entry) => Entry,
): Promise<Change<null>> {
  // Changes of one catalogue run one after another. Other calls that refer to the environment do not wait.
  await lockEnvironment(client, environmentId)
  const entries = await readEntries(client, environmentId)
  const before = entries.get(name) ?? NO_ENTRY
  const after = change(before)
  if (after.isAdded === before.isAdded && after.creditLimit === before.creditLimit) return { outcome: null }
  if (!entries.has(name) && entries.size >= MAX_CURRENCIES)
    throw invalidRequest({ path: 'currency', message: `is one too many: the catalogue holds ${MAX_CURRENCIES}` })
  const key = { environmentId, name }
  if (!after.isAdded && after.creditLimit === null) await db.currency.deleteMany({ where: key })
  else await db.currency.upsert({ where: { environmentId_name: key }, create: { ...key, ...after }, update: after })
  return { outcome: null, target: name, before: { ...before }, after: { ...after } }
}

async function readEntries(client: ClientBase | Pool, environmentId: string): Promise<Map<string, Entry>> {
  const { rows } = await client.query<{ name: string; is_added: boolean; credit_limit: string | null }>({
    name: 'currencies',
    text: 'SELECT name, is_added, credit_limit::text FROM currencies WHERE environment_id = $1',
    values: [environmentId],
  })
  return new Map(
    rows.map(({ name, is_added: isAdded, credit_limit: limit }) => [
      name,
      { isAdded, creditLimit: limit === null ? null : BigInt(limit) },
    ]),
  )
}

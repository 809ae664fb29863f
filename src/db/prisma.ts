import { hash } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import type { Pool, PoolClient } from 'pg'
import { Prisma, PrismaClient } from './generated/prisma/client.ts'
import { inTransaction } from './transaction.ts'

export type { PrismaClient }

export type Model = Prisma.ModelName
type Models = Prisma.TypeMap['model']
/** A condition on the rows of a model. */
export type WhereOf<M extends Model> = NonNullable<Models[M]['operations']['findMany']['args']['where']>

/** Prisma's statements in a transaction of ours. */
export type Db = Prisma.TransactionClient

/** One transaction, for Prisma's statements and for SQL. */
export interface Transaction {
  readonly db: Db
  readonly client: PoolClient
}

/** Runs `work` in one transaction on one connection. Any error rolls all of it back. */
export type Transact = <T>(work: (transaction: Transaction) => Promise<T>) => Promise<T>

/** Longest time of a timer. Prisma always has one for a transaction. */
const NEVER_MS = 2 ** 31 - 1
/** The level that each transaction has anyway. Of Prisma's transactions, only those of `transact` name one. */
const OURS = 'ReadCommitted'

/** Prisma on a pool of the service, for the reads of dashboards. */
export const createPrisma = (pool: Pool): PrismaClient => openPrisma(pool).prisma

/** The same, with transactions for changes of operators. */
export function openPrisma(pool: Pool): { readonly prisma: PrismaClient; readonly transact: Transact } {
  const adapter = new Adapter(pool)
  // Other forms of errors quote the source.
  const prisma = new PrismaClient({ adapter, errorFormat: 'minimal' })
  let lastStart = Promise.resolve()

  /** One starts after another, so that each has the connection that was lent for it. A start sends nothing. */
  async function on<T>(client: PoolClient, work: (db: Db) => Promise<T>): Promise<T> {
    const earlier = lastStart
    let started = () => {}
    lastStart = new Promise((resolve) => {
      started = resolve
    })
    try {
      await earlier
      adapter.lent = client
      const run = (db: Db) => {
        started()
        return work(db)
      }
      return await prisma.$transaction(run, { maxWait: NEVER_MS, timeout: NEVER_MS, isolationLevel: OURS })
    } finally {
      if (adapter.lent === client) adapter.lent = undefined
      started()
    }
  }

  return {
    prisma,
    async transact(work) {
      // To connect, Prisma takes a connection of the pool. Calls that hold all of them would wait for it.
      await prisma.$connect()
      try {
        return await inTransaction(pool, (client) => on(client, (db) => work({ client, db })))
      } catch (error) {
        // A request was checked before: this is a bug, not a cursor of a caller.
        throw isUnreadableArgument(error) ? new Error('Prisma cannot read a change', { cause: error }) : error
      }
    },
  }
}

/**
 * Prisma names the schema of each table. Here it is the schema of the migrator and of all other statements.
 *
 * A transaction of a change is one that `inTransaction` has begun and ends. By itself, Prisma ends it after a time while
 * a statement may run, whose successors then run outside of it; and it gives a connection back to the pool as a good
 * one that did not answer a COMMIT or ROLLBACK. For several reads at once, Prisma begins transactions of its own.
 */
class Adapter extends PrismaPg {
  private readonly pool: Pool
  /** The connection of the next transaction. */
  lent: PoolClient | undefined

  constructor(pool: Pool) {
    super(pool, {
      // Without a name every statement would be parsed and planned each time.
      statementNameGenerator: ({ sql }) => hash('sha1', sql, 'base64url'),
    })
    this.pool = pool
  }

  /** Called before the first statement, and again when that could not be sent. */
  override async connect() {
    const { rows } = await this.pool.query<{ schema: string }>('SELECT current_schema() AS schema')
    const adapter = await super.connect()
    const info = adapter.getConnectionInfo()
    const begin = adapter.startTransaction.bind(adapter)
    const ended = async () => {}
    return Object.assign(adapter, {
      getConnectionInfo: () => ({ ...info, schemaName: rows[0]?.schema }),
      startTransaction: async (level: Parameters<typeof begin>[0]) => {
        if (level === undefined) return begin(level)
        const client = this.lent
        this.lent = undefined
        if (!client) throw new Error('a change has no connection')
        // With this option, Prisma sends neither COMMIT nor ROLLBACK.
        const options = { usePhantomQuery: true }
        return Object.assign(Object.create(adapter), { client, options, commit: ended, rollback: ended })
      },
    })
  }
}

/** Whether Prisma or the database could not read a value, such as a faulty UUID. */
export function isUnreadableArgument(error: unknown): boolean {
  if (error instanceof Prisma.PrismaClientValidationError) return true
  return error instanceof Prisma.PrismaClientKnownRequestError && (error.code === 'P2007' || error.code === 'P2023')
}

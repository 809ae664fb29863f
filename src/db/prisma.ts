import { hash } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import type { Pool } from 'pg'
import { Prisma, PrismaClient } from './generated/prisma/client.ts'

export type { PrismaClient }

/**
 * Prisma on a pool of the service, for the reads of dashboards. No write of the game uses it: a transaction of Prisma's
 * that times out can still commit a statement.
 */
export function createPrisma(pool: Pool): PrismaClient {
  return new PrismaClient({ adapter: new Adapter(pool) })
}

/** Prisma names the schema of each table. Here it is the schema of the migrator and of all other statements. */
class Adapter extends PrismaPg {
  private readonly pool: Pool

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
    return Object.assign(adapter, { getConnectionInfo: () => ({ ...info, schemaName: rows[0]?.schema }) })
  }
}

/** Whether Prisma or the database could not read a value, such as a faulty UUID. */
export function isUnreadableArgument(error: unknown): boolean {
  if (error instanceof Prisma.PrismaClientValidationError) return true
  return error instanceof Prisma.PrismaClientKnownRequestError && (error.code === 'P2007' || error.code === 'P2023')
}

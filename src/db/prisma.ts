import { createHash } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import type { Pool } from 'pg'
import { Prisma, PrismaClient } from './generated/prisma/client.ts'

export type { PrismaClient }

/**
 * Prisma on a pool of the service's own: for what dashboards read. No game write goes through it (a transaction of Prisma's
 * that times out can still commit a statement).
 */
export function createPrisma(pool: Pool): PrismaClient {
  const adapter = new PrismaPg(pool, {
    // Without a name every statement is parsed and planned anew.
    statementNameGenerator: ({ sql }) => createHash('sha1').update(sql).digest('base64url'),
  })
  return new PrismaClient({ adapter })
}

/** Whether Prisma, or the database behind it, could not make sense of a value: no such type, no such UUID. */
export function isUnreadableArgument(error: unknown): boolean {
  if (error instanceof Prisma.PrismaClientValidationError) return true
  return error instanceof Prisma.PrismaClientKnownRequestError && (error.code === 'P2007' || error.code === 'P2023')
}

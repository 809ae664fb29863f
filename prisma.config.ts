import { defineConfig } from 'prisma/config'

// `prisma generate` looks for a native engine that it never runs. Naming any executable keeps it from downloading one.
if (process.argv.includes('generate')) process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL ?? '' },
})

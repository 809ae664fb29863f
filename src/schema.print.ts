import { writeFile } from 'node:fs/promises'
import { lexicographicSortSchema, printSchema } from 'graphql'
import { schema } from './schema.ts'

// `npm run schema`: writes the schema as it is committed and reviewed. No part of the service.
await writeFile(new URL('../schema.graphql', import.meta.url), `${printSchema(lexicographicSortSchema(schema))}\n`)

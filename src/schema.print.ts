import { writeFile } from 'node:fs/promises'
import { printedSchema } from './schema.ts'

// `npm run schema`: writes the schema as it is committed and reviewed.
await writeFile(new URL('../schema.graphql', import.meta.url), printedSchema)

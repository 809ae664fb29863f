import { readFile, writeFile } from 'node:fs/promises'
import { printedSchema, schema } from '../schema.ts'
import { printContract, printServerContract, printUnityContract } from './client-contract.ts'
import { printTitles, withTables } from './operator-call-docs.ts'
import { withRefusalTable } from './refusal-docs.ts'
import { printSchemaFor } from './schema-for.ts'

// `npm run schema`: writes the schema, the types of the libraries, and what a page and the console say of operators' calls.
// All are committed. Not part of the service.
await writeFile(new URL('../../schema.graphql', import.meta.url), printedSchema())
await writeFile(new URL('../client/contract.ts', import.meta.url), printContract())
await writeFile(new URL('../sdk/server-contract.ts', import.meta.url), printServerContract())
await writeFile(new URL('../../sdk/unity/Runtime/Contract.cs', import.meta.url), printUnityContract())

const access = new URL('../../docs/access.md', import.meta.url)
const page = withTables(await readFile(access, 'utf8'))
await writeFile(access, page)
const guide = new URL('../../docs/graphql.md', import.meta.url)
await writeFile(guide, withRefusalTable(await readFile(guide, 'utf8'), schema))
for (const audience of ['player', 'operator'] as const)
  await writeFile(new URL(`../../schema.${audience}.graphql`, import.meta.url), printSchemaFor(audience, schema, page))
await writeFile(new URL('../../console/src/project/action-titles.ts', import.meta.url), printTitles())

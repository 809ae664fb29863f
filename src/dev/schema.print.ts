import { readFile, writeFile } from 'node:fs/promises'
import { printedSchema } from '../schema.ts'
import { printContract, printServerContract, printUnityContract } from './client-contract.ts'
import { printTitles, withTables } from './operator-call-docs.ts'

// `npm run schema`: writes the schema, the types of the libraries, and what a page and the console say of operators' calls.
// All are committed. Not part of the service.
await writeFile(new URL('../../schema.graphql', import.meta.url), printedSchema())
await writeFile(new URL('../client/contract.ts', import.meta.url), printContract())
await writeFile(new URL('../sdk/server-contract.ts', import.meta.url), printServerContract())
await writeFile(new URL('../../sdk/unity/Runtime/Contract.cs', import.meta.url), printUnityContract())

const page = new URL('../../docs/access.md', import.meta.url)
await writeFile(page, withTables(await readFile(page, 'utf8')))
await writeFile(new URL('../../console/src/project/action-titles.ts', import.meta.url), printTitles())

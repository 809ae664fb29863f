import { writeFile } from 'node:fs/promises'
import { printedSchema } from '../schema.ts'
import { printContract, printServerContract } from './client-contract.ts'

// `npm run schema`: writes the schema and the types of the libraries, which are committed. Not part of the
// service.
await writeFile(new URL('../../schema.graphql', import.meta.url), printedSchema())
await writeFile(new URL('../client/contract.ts', import.meta.url), printContract())
await writeFile(new URL('../sdk/server-contract.ts', import.meta.url), printServerContract())

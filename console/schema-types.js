import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { minifyIntrospection, outputIntrospectionFile } from '@gql.tada/internal'
import { buildSchema, introspectionFromSchema } from 'graphql'

// Writes the types of `schema.graphql`, from which gql.tada infers those of each operation of the console.
const schema = buildSchema(readFileSync(new URL('../schema.graphql', import.meta.url), 'utf8'))
const introspection = minifyIntrospection(introspectionFromSchema(schema, { descriptions: false }))
const folder = new URL('generated/', import.meta.url)
mkdirSync(folder, { recursive: true })
const text = outputIntrospectionFile(introspection, { fileType: '.d.ts', shouldPreprocess: true })
writeFileSync(new URL('schema.d.ts', folder), text)

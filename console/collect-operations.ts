import { createHash } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { formatDocument, stringifyDocument } from '@urql/core'
import type { DocumentNode } from 'graphql'

// Writes `dist/console/operations.json`: every document of the console by its SHA-256, as its clients send it, for
// services that run known documents alone (PERSISTED_OPERATIONS_ONLY).
const documents: Record<string, string> = {}
for (const path of readdirSync(new URL('src', import.meta.url), { recursive: true, encoding: 'utf8' })) {
  if (basename(path) !== 'operations.ts') continue
  const exported = Object.values(await import(`./src/${path}`)) as DocumentNode[]
  for (const document of exported.filter(isOperation)) {
    // Queries and mutations name the type of each object. Subscriptions go as they are.
    for (const text of [stringifyDocument(formatDocument(document)), stringifyDocument(document)])
      documents[createHash('sha256').update(text).digest('hex')] = text
  }
}
writeFileSync(new URL('../dist/console/operations.json', import.meta.url), JSON.stringify(documents))

function isOperation({ kind, definitions }: DocumentNode): boolean {
  return kind === 'Document' && definitions.some((definition) => definition.kind === 'OperationDefinition')
}

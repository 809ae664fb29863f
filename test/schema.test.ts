import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { printedSchema } from '../src/schema.ts'

describe('schema.graphql', () => {
  it('is current; `npm run schema` writes it', async () => {
    expect(await readFile(new URL('../schema.graphql', import.meta.url), 'utf8')).toBe(printedSchema)
  })
})

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { printContract } from '../../src/dev/client-contract.ts'

const BIOME = fileURLToPath(new URL('../../node_modules/.bin/biome', import.meta.url))
const CONTRACT = fileURLToPath(new URL('../../src/client/contract.ts', import.meta.url))

it("the client library's types are up to date with the declarations", async () => {
  const formatted = await new Promise<string>((resolve, reject) => {
    const biome = execFile(BIOME, ['format', `--stdin-file-path=${CONTRACT}`], (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    )
    biome.stdin?.end(printContract())
  })
  const committed = await readFile(CONTRACT, 'utf8')
  expect(
    committed === formatted,
    'src/client/contract.ts is stale: run `npm run schema` and commit what it writes',
  ).toBe(true)
})

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { printContract, printServerContract, printUnityContract } from '../../src/dev/client-contract.ts'

const BIOME = fileURLToPath(new URL('../../node_modules/.bin/biome', import.meta.url))

it.each([
  ['src/client/contract.ts', printContract],
  ['src/sdk/server-contract.ts', printServerContract],
])("the libraries' types are up to date with the declarations: %s", async (file, printed) => {
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url))
  const formatted = await new Promise<string>((resolve, reject) => {
    const biome = execFile(BIOME, ['check', '--write', `--stdin-file-path=${path}`], (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    )
    biome.stdin?.end(printed())
  })
  const committed = await readFile(path, 'utf8')
  expect(committed === formatted, `${file} is stale: run \`npm run schema\` and commit what it writes`).toBe(true)
})

it('the client for Unity is up to date with the declarations, too', async () => {
  expect(await readFile('sdk/unity/Runtime/Contract.cs', 'utf8')).toBe(printUnityContract())
})

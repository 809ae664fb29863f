import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../base/config.ts'
import { generateSecretsKey, type SecretsKey } from '../base/secrets.ts'
import { generateTokenKey, type TokenKey } from './tokens.ts'

/** The keys of the configuration. If it has none, a key that is created once and stored in `dataDir`. */
export async function loadTokenKeys({ tokenKeys, dataDir }: Config): Promise<readonly TokenKey[]> {
  return tokenKeys ?? keptKeys(dataDir, 'token-keys.json', generateTokenKey)
}

/** The same for the keys that encrypt providers' secrets. */
export async function loadSecretsKeys({ secretsKeys, dataDir }: Config): Promise<readonly SecretsKey[]> {
  return secretsKeys ?? keptKeys(dataDir, 'secrets-keys.json', generateSecretsKey)
}

async function keptKeys<Key>(dataDir: string, name: string, make: () => Key | Promise<Key>): Promise<readonly Key[]> {
  const file = join(dataDir, name)
  await mkdir(dataDir, { recursive: true })
  if (!(await readFile(file, 'utf8').catch(() => undefined))) {
    // Written to a draft and linked to its place: when several processes start at once, the first key wins, and no
    // process reads half a key.
    const draft = `${file}.${process.pid}`
    await writeFile(draft, `${JSON.stringify([await make()])}\n`, { mode: 0o600 })
    await link(draft, file).catch(() => undefined)
    await rm(draft)
  }
  return JSON.parse(await readFile(file, 'utf8'))
}

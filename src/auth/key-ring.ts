import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { generateTokenKey, type TokenKey } from './tokens.ts'

/** The keys of the environment; without any, the one that development made for itself and keeps. */
export async function loadTokenKeys({ tokenKeys, dataDir }: Config): Promise<readonly TokenKey[]> {
  if (tokenKeys) return tokenKeys
  const file = join(dataDir, 'token-keys.json')
  await mkdir(dataDir, { recursive: true })
  if (!(await readFile(file, 'utf8').catch(() => undefined))) {
    // Written beside its place and linked there whole: of several processes that start at once the first one's key
    // stands, and nobody reads half of it.
    const draft = `${file}.${process.pid}`
    await writeFile(draft, `${JSON.stringify([await generateTokenKey()])}\n`, { mode: 0o600 })
    await link(draft, file).catch(() => undefined)
    await rm(draft)
  }
  return JSON.parse(await readFile(file, 'utf8'))
}

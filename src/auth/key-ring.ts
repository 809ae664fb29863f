import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { generateTokenKey, type TokenKey } from './tokens.ts'

/** The keys of the environment; without any, the one that development made for itself and keeps. */
export async function loadTokenKeys({ tokenKeys, dataDir }: Config): Promise<readonly TokenKey[]> {
  if (tokenKeys) return tokenKeys
  const file = join(dataDir, 'token-keys.json')
  await mkdir(dataDir, { recursive: true })
  // Of several processes that start at once, the first one's key stands.
  await writeFile(file, `${JSON.stringify([await generateTokenKey()])}\n`, { mode: 0o600, flag: 'wx' }).catch(
    () => undefined,
  )
  return JSON.parse(await readFile(file, 'utf8'))
}

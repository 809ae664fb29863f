import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { without } from './needs.ts'

/** What the client for Unity needs on plain .NET. */
export const MONO_HTTP = 'System.Net.Http.dll'

/** Why Mono cannot compile and run the client for Unity here, or an empty text. */
export function withoutMonoHttp(): string {
  const missing = without('mcs', 'mono')
  if (missing !== '') return missing
  const out = join(tmpdir(), `tierway-mono-${process.pid}.dll`)
  const small = fileURLToPath(new URL('../../sdk/unity/Runtime/ITransport.cs', import.meta.url))
  const found = spawnSync('mcs', ['-target:library', `-r:${MONO_HTTP}`, `-out:${out}`, small])
  rmSync(out, { force: true })
  return found.status === 0 ? '' : `SKIPPED, Mono's ${MONO_HTTP} is not installed: `
}

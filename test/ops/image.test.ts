import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const RUNTIME = 'node_modules/@prisma/client/runtime'

it("the image has Prisma's compiler for Postgres, and 50 MB less of those for other databases", () => {
  const folder = mkdtempSync(join(tmpdir(), 'tierway-image-'))
  try {
    cpSync(new URL(RUNTIME, root), join(folder, RUNTIME), { recursive: true })
    const size = () =>
      readdirSync(join(folder, RUNTIME)).reduce((sum, name) => sum + statSync(join(folder, RUNTIME, name)).size, 0)
    const before = size()
    const [, remove = ''] = /^RUN (find .*)$/m.exec(readFileSync(new URL('Dockerfile', root), 'utf8')) ?? []
    execFileSync('sh', ['-c', remove], { cwd: folder })
    expect(before - size()).toBeGreaterThan(50e6)
    const client = readFileSync(new URL('src/db/generated/prisma/internal/class.ts', root), 'utf8')
    const imported = [...client.matchAll(/"@prisma\/client\/runtime\/([\w.-]+)"/g)].map(([, name]) => name)
    expect(imported.length).toBeGreaterThan(1)
    for (const name of imported)
      expect(readdirSync(join(folder, RUNTIME)).some((file) => file.startsWith(`${name}`))).toBe(true)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

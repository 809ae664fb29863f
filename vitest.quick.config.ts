import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import base from './vitest.config.ts'

// `npm run test:quick`: the tests of rules, readers, shapes and decisions. They start neither Postgres nor a process.

const TESTS = fileURLToPath(new URL('test', import.meta.url))
const STARTS_SOMETHING = /\binject\(|from 'pg'|from 'node:child_process'/
const known = new Map<string, boolean>()

/** Whether a test starts something, by itself or by a module of `test/` that it imports. */
function startsSomething(file: string): boolean {
  const found = known.get(file)
  if (found !== undefined) return found
  known.set(file, false)
  const text = readFileSync(file, 'utf8')
  const imported = [...text.matchAll(/^(?:import|export)[^'"]*? from '(\.[^']+)'/gm)]
    .map(([, path = '']) => resolve(dirname(file), path))
    .filter((path) => path.startsWith(TESTS))
  const starts = STARTS_SOMETHING.test(text) || imported.some(startsSomething)
  known.set(file, starts)
  return starts
}

const quick = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') && !startsSomething(join(TESTS, name)))
  .map((name) => join('test', name))

const { test, ...config } = base

export default { ...config, test: { ...test, include: quick, globalSetup: [] } }

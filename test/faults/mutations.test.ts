import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { FAULT_GUARANTEES, NPM_TEST } from '../guarantees.ts'
import { MUTATIONS, mutated } from './mutations.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const named = FAULT_GUARANTEES.flatMap(({ tests }) => tests)

describe('the mutations of the product', () => {
  it.each(MUTATIONS)('still apply: $what', async (mutation) => {
    expect(await mutated(ROOT, mutation)).not.toBe('')
    for (const test of mutation.tests) expect(named).toContainEqual(test)
  })

  it('are noticed by `npm test` alone, most of them', () => {
    const noticed = MUTATIONS.filter(({ tests }) => tests.some(({ file }) => NPM_TEST.includes(`test/${file}`)))
    expect(noticed.length).toBeGreaterThan(0.7 * MUTATIONS.length)
  })

  it('are refused when their text is not in the file', async () => {
    const [mutation] = MUTATIONS
    if (!mutation) throw new Error('there are no mutations')
    const changes = [['what stands nowhere', '']] as const
    await expect(mutated(ROOT, { ...mutation, changes })).rejects.toThrow('finds its text 0 times')
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSecrets, generateSecretsKey, type SecretContext } from '../../src/providers/secrets.ts'

const [oldKey, newKey] = [generateSecretsKey(), generateSecretsKey()]
const context: SecretContext = { projectId: 'p', environmentId: 'e', kind: 'custom', name: 'default' }
const secrets = createSecrets([oldKey])

describe('a sealed secret (decisions 6)', () => {
  it('opens as it was, whatever it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (plain) => {
        expect(secrets.open(secrets.seal(plain, context), context)).toBe(plain)
      }),
    )
  })

  it('is of the form that is documented, tells nothing, and is another one each time', () => {
    const sealed = secrets.seal('hunter2', context)
    expect(sealed).toMatch(new RegExp(`^v1\\.${oldKey.kid}\\.[\\w-]{16}\\.[\\w-]+$`))
    expect(sealed).not.toContain('hunter2')
    expect(sealed).not.toBe(secrets.seal('hunter2', context))
  })

  it('does not open after any change of any character', () => {
    const sealed = secrets.seal('hunter2', context)
    for (let at = 0; at < sealed.length; at += 1) {
      const other = sealed[at] === 'A' ? 'B' : 'A'
      expect(() => secrets.open(sealed.slice(0, at) + other + sealed.slice(at + 1), context), String(at)).toThrow()
    }
    expect(() => secrets.open(sealed.slice(0, -1), context)).toThrow()
    for (const text of ['', 'v1', 'hunter2', `${sealed}=`, ` ${sealed}`])
      expect(() => secrets.open(text, context)).toThrow()
  })

  it('opens in its own place only: project, environment, kind and name', () => {
    const sealed = secrets.seal('hunter2', context)
    for (const change of [{ projectId: 'q' }, { environmentId: 'f' }, { kind: 'google' }, { name: 'other' }]) {
      expect(() => secrets.open(sealed, { ...context, ...change })).toThrow()
    }
  })

  it('stays readable under a new key in front, and not once its own is gone', () => {
    const sealed = secrets.seal('hunter2', context)
    const rotated = createSecrets([newKey, oldKey])
    expect(rotated.open(sealed, context)).toBe('hunter2')
    expect(rotated.seal('hunter2', context)).toContain(`.${newKey.kid}.`)
    expect(() => createSecrets([newKey]).open(sealed, context)).toThrow()
  })
})

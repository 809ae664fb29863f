import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/base/config.ts'
import { createSecrets, generateSecretsKey, type SecretContext } from '../../src/base/secrets.ts'
import { times } from '../harness/game.ts'

const [oldKey, newKey] = [generateSecretsKey(), generateSecretsKey()]
const context: SecretContext = { projectId: 'p', environmentId: 'e', kind: 'custom', name: 'default' }
const secrets = createSecrets([oldKey])
const BASE64URL = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']

// Every code point except lone surrogates, which no secret has. Includes NUL, emoji and unassigned ones.
const plainText = fc.string({ unit: 'binary', maxLength: 600 })
// Texts that would be ambiguous if the parts of a place were only concatenated.
const part = fc.oneof(fc.string({ unit: fc.constantFrom('a', '"', ',', '.', '/', '\0'), maxLength: 4 }), plainText)
const place: fc.Arbitrary<SecretContext> = fc.record({
  projectId: part,
  environmentId: part,
  kind: part,
  name: part,
})

function messageOf(open: () => string): string {
  try {
    open()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it opened')
}

describe('a sealed secret (contract 4.3)', () => {
  it('opens to the same text, for any text and place', () => {
    fc.assert(
      fc.property(plainText, place, (plain, where) => {
        expect(secrets.open(secrets.seal(plain, where), where)).toBe(plain)
      }),
      { numRuns: 1000 },
    )
  })

  it.each(['', 'x', 'x'.repeat(512), '😀'.repeat(512), 'a\0b', ' spaces ', 'v1.a.b.c'])(
    'opens to the text %j',
    (plain) => {
      expect(secrets.open(secrets.seal(plain, context), context)).toBe(plain)
    },
  )

  it('has the documented form and does not contain the secret', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 8, maxLength: 600 }), (plain) => {
        const sealed = secrets.seal(plain, context)
        expect(sealed).toMatch(new RegExp(`^v1\\.${oldKey.kid}\\.[\\w-]{16}\\.[\\w-]+$`))
        expect(sealed).not.toContain(plain)
        expect(sealed).not.toContain(Buffer.from(plain).toString('base64url'))
      }),
    )
  })

  it('has a new iv and ciphertext each time, a thousand times', () => {
    const seals = times(1000, () => secrets.seal('hunter2', context).split('.'))
    expect(new Set(seals.map(([, , iv]) => iv)).size).toBe(1000)
    expect(new Set(seals.map(([, , , text]) => text)).size).toBe(1000)
  })
})

describe('a sealed secret that was tampered with', () => {
  const sealed = secrets.seal('hunter2', context)
  const [version = '', kid = '', iv = '', text = ''] = sealed.split('.')

  it('does not open with any character replaced', () => {
    for (let at = 0; at < sealed.length; at += 1) {
      for (const other of [...BASE64URL, '.', '=', '+', '/', ' ', '\n']) {
        if (other === sealed[at]) continue
        expect(
          () => secrets.open(sealed.slice(0, at) + other + sealed.slice(at + 1), context),
          `${at}: ${other}`,
        ).toThrow()
      }
    }
  })

  it('does not open with a character added or removed anywhere', () => {
    for (let at = 0; at <= sealed.length; at += 1) {
      for (const more of ['A', '_', '.', '=', ' ', '\n', '\0']) {
        expect(() => secrets.open(sealed.slice(0, at) + more + sealed.slice(at), context), `${at}: ${more}`).toThrow()
      }
      if (at < sealed.length)
        expect(() => secrets.open(sealed.slice(0, at) + sealed.slice(at + 1), context), String(at)).toThrow()
    }
  })

  it('does not open with any bit of its iv, ciphertext or tag flipped', () => {
    for (const [index, bytes] of [Buffer.from(iv, 'base64url'), Buffer.from(text, 'base64url')].entries()) {
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const flipped = Buffer.from(bytes)
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        const changed = [version, kid, iv, text].with(2 + index, flipped.toString('base64url')).join('.')
        expect(() => secrets.open(changed, context), `${index}: ${bit}`).toThrow()
      }
    }
  })

  it('does not open with parts of another one, or with a short or missing tag', () => {
    const [, , otherIv = '', otherText = ''] = secrets.seal('hunter2', context).split('.')
    const bytes = Buffer.from(text, 'base64url')
    for (const parts of [
      [version, kid, otherIv, text],
      [version, kid, iv, otherText],
      [version, kid, iv],
      [version, kid, iv, text, ''],
      [version, kid, iv, ''],
      ...times(16, (length) => [version, kid, iv, bytes.subarray(0, 7 + length).toString('base64url')]),
      ...[4, 8, 12, 13, 14, 15].map((length) => [version, kid, iv, bytes.subarray(0, length).toString('base64url')]),
    ]) {
      expect(() => secrets.open(parts.join('.'), context), parts.join('.')).toThrow()
    }
  })

  it('does not open when it was never sealed', () => {
    for (const never of [
      '',
      'v1',
      'v1...',
      'hunter2',
      'null',
      `${sealed}=`,
      ` ${sealed}`,
      `${sealed}\n`,
      `v2${sealed.slice(2)}`,
    ])
      expect(() => secrets.open(never, context), never).toThrow()
    fc.assert(
      fc.property(plainText, (never) => {
        expect(() => secrets.open(never, context)).toThrow()
      }),
    )
  })
})

describe('the place of a sealed secret', () => {
  it('must match in project, environment, kind and name', () => {
    const sealed = secrets.seal('hunter2', context)
    for (const change of [
      { projectId: 'q' },
      { environmentId: 'f' },
      { kind: 'google' },
      { name: 'other' },
      { name: '' },
      { name: 'Default' },
      { name: 'default ' },
    ]) {
      expect(() => secrets.open(sealed, { ...context, ...change }), JSON.stringify(change)).toThrow()
    }
  })

  it('must match, for any two places', () => {
    fc.assert(
      fc.property(place, place, (sealedAt, openedAt) => {
        fc.pre(JSON.stringify(sealedAt) !== JSON.stringify(openedAt))
        const sealed = secrets.seal('hunter2', sealedAt)
        expect(() => secrets.open(sealed, openedAt)).toThrow()
      }),
      { numRuns: 1000 },
    )
  })

  it('must match part by part, not as joined text', () => {
    const sealed = secrets.seal('hunter2', { ...context, projectId: 'ab', environmentId: 'c' })
    expect(() => secrets.open(sealed, { ...context, projectId: 'a', environmentId: 'bc' })).toThrow()
    expect(() => secrets.open(sealed, { ...context, projectId: 'ab","c', environmentId: '' })).toThrow()
  })
})

describe('keys (contract 4.3)', () => {
  it('open their secrets behind a new first key, which seals, but not once they are removed', () => {
    const sealed = secrets.seal('hunter2', context)
    const rotated = createSecrets([newKey, oldKey])
    expect(rotated.open(sealed, context)).toBe('hunter2')
    const fresh = rotated.seal('hunter2', context)
    expect(fresh).toContain(`.${newKey.kid}.`)
    expect(createSecrets([oldKey, newKey]).open(fresh, context)).toBe('hunter2')
    expect(() => createSecrets([newKey]).open(sealed, context)).toThrow()
    expect(() => secrets.open(fresh, context)).toThrow()
  })

  it('are not identified by the kid alone: another key with the same kid opens nothing', () => {
    const sealed = secrets.seal('hunter2', context)
    expect(() => createSecrets([{ kid: oldKey.kid, key: newKey.key }]).open(sealed, context)).toThrow()
    for (const kid of ['__proto__', 'constructor', 'toString', newKey.kid])
      expect(() => secrets.open(sealed.replace(oldKey.kid, kid), context), kid).toThrow()
  })

  it('are required', () => {
    expect(() => createSecrets([])).toThrow()
  })

  it('are generated in the form that the configuration accepts, each one different', () => {
    const keys = times(100, generateSecretsKey)
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(100)
    expect(new Set(keys.map(({ key }) => key)).size).toBe(100)
    for (const { kid, key } of keys) {
      expect(kid).toMatch(/^[\w-]{1,64}$/)
      expect(Buffer.from(key, 'base64url')).toHaveLength(32)
    }
    expect(readConfig({ SECRETS_KEYS: JSON.stringify(keys) }).secretsKeys).toEqual(keys)
  })

  it('do not appear in error messages, nor do secrets', () => {
    const sealed = secrets.seal('hunter2', context)
    const messages = [
      messageOf(() => secrets.open(sealed, { ...context, name: 'other' })),
      messageOf(() => secrets.open(sealed.replace('v1', 'v2'), context)),
      messageOf(() => createSecrets([newKey]).open(sealed, context)),
      messageOf(() => secrets.open('hunter2', context)),
    ]
    for (const told of ['hunter2', sealed, oldKey.key, newKey.key]) expect(messages.join()).not.toContain(told)
  })
})

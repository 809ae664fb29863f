import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  signStandardWebhook,
  signWebhook,
  verifyStandardWebhook,
  verifyWebhookSignature,
} from '../../src/sdk/webhook.ts'
import { without } from '../harness/needs.ts'
import { startReceiver, testReceiver } from './receiver.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

interface Vector {
  readonly name: string
  readonly secret: string
  readonly body?: string
  readonly bodyBase64?: string
  readonly signature: string | null
  readonly valid: boolean
}

interface StandardVector extends Vector {
  readonly id: string | null
  readonly timestamp: string | null
  readonly now: number
  readonly toleranceSeconds: number
}

const vectors: { readonly signature: Vector[]; readonly standard: StandardVector[] } = JSON.parse(
  read('sdk/webhook-vectors.json'),
)

const titled = <T extends Vector>(list: T[]) =>
  list.map((vector): [string, string, T] => [vector.valid ? 'accepts' : 'refuses', vector.name, vector])

const bytesOf = ({ body, bodyBase64 = '' }: Vector): Buffer =>
  body === undefined ? Buffer.from(bodyBase64, 'base64') : Buffer.from(body)

const verify = (vector: Vector, body: Uint8Array | string) =>
  verifyWebhookSignature(vector.secret, body, vector.signature)

const verifyStandard = (vector: StandardVector, body: Uint8Array | string) =>
  verifyStandardWebhook(vector.secret, body, vector, {
    now: new Date(vector.now * 1000),
    toleranceSeconds: vector.toleranceSeconds,
  })

describe('the test vectors that every language shares', () => {
  test.each(titled(vectors.signature))('X-Signature (contract 4.4): %s %s', (_verb, _name, vector) => {
    expect(verify(vector, bytesOf(vector))).toBe(vector.valid)
    expect(verify(vector, new Uint8Array(bytesOf(vector)))).toBe(vector.valid)
    if (vector.body !== undefined) expect(verify(vector, vector.body)).toBe(vector.valid)
    if (vector.valid) expect(signWebhook(vector.secret, bytesOf(vector))).toBe(vector.signature)
  })

  test.each(titled(vectors.standard))('Standard Webhooks: %s %s', (_verb, _name, vector) => {
    expect(verifyStandard(vector, bytesOf(vector))).toBe(vector.valid)
    if (vector.body !== undefined) expect(verifyStandard(vector, vector.body)).toBe(vector.valid)
  })

  const withoutOpenssl = without('openssl')
  test.skipIf(withoutOpenssl !== '')(`${withoutOpenssl}have the signatures that OpenSSL computes`, () => {
    const right = vectors.signature.filter(({ valid }) => valid)
    expect(right.length).toBeGreaterThan(25)
    for (const vector of right) {
      const key = `hexkey:${Buffer.from(vector.secret).toString('hex')}`
      const digest = execFileSync('openssl', ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', key, '-binary'], {
        input: bytesOf(vector),
      })
      expect(digest.toString('hex'), vector.name).toBe(vector.signature)
    }
  })
})

const anyBody = fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array({ maxLength: 300 }))
const anySecret = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100 }),
  fc.uint8Array({ minLength: 1, maxLength: 40 }).map((key) => `whsec_${Buffer.from(key).toString('base64')}`),
)
const anyId = fc.string({ minLength: 1 }).filter((id) => !id.includes('.'))
const anyTimestamp = fc.integer({ min: 0, max: 10 ** 12 })
const at = (timestamp: number) => ({ now: new Date(timestamp * 1000) })

function flipBit(bytes: Uint8Array, bit: number, bitsPerByte = 8): Buffer {
  const flipped = Buffer.from(bytes)
  const index = Math.floor(bit / bitsPerByte) % flipped.length
  flipped.writeUInt8(flipped.readUInt8(index) ^ (1 << (bit % bitsPerByte)), index)
  return flipped
}

/** The same ASCII text except for one bit of one character, which stays ASCII. */
const flipTextBit = (text: string, bit: number): string => flipBit(Buffer.from(text), bit, 7).toString()

describe('verifyWebhookSignature (contract 4.4)', () => {
  test('accepts a signature of signWebhook, with the body as bytes and as text', () => {
    fc.assert(
      fc.property(anySecret, anyBody, (secret, body) => {
        const signature = signWebhook(secret, body)
        expect(signature).toMatch(/^[0-9a-f]{64}$/)
        expect(verifyWebhookSignature(secret, body, signature)).toBe(true)
        expect(verifyWebhookSignature(secret, Buffer.from(body as string), signature)).toBe(true)
      }),
    )
  })

  test('refuses a change of a single bit of the body, of the secret or of the signature', () => {
    const anyAscii = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 80 })
    fc.assert(
      fc.property(anyAscii, fc.uint8Array({ minLength: 1 }), fc.nat(), (secret, body, bit) => {
        const signature = signWebhook(secret, body)
        expect(verifyWebhookSignature(secret, flipBit(body, bit), signature)).toBe(false)
        expect(verifyWebhookSignature(flipTextBit(secret, bit), body, signature)).toBe(false)
        expect(verifyWebhookSignature(secret, body, flipTextBit(signature, bit))).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  test('refuses every single-bit change of a signature, and every prefix of it', () => {
    const signature = signWebhook('a secret', 'a body')
    for (let bit = 0; bit < 7 * signature.length; bit += 1) {
      expect(verifyWebhookSignature('a secret', 'a body', flipTextBit(signature, bit))).toBe(false)
    }
    for (let length = 0; length < signature.length; length += 1) {
      expect(verifyWebhookSignature('a secret', 'a body', signature.slice(0, length))).toBe(false)
    }
  })

  test('never throws, with arguments of any type', () => {
    const anything = fc.oneof(
      fc.anything({ withTypedArray: true, withDate: true, withBigInt: true }),
      fc.constant(Symbol()),
    )
    fc.assert(
      fc.property(anything, anything, anything, (secret, body, signature) => {
        expect(verifyWebhookSignature(secret as string, body as string, signature as string)).toBe(false)
      }),
      { numRuns: 1000 },
    )
  })

  test('refuses a list of headers and a body that was parsed already', () => {
    const body = '{"customData":{}}'
    const signature = signWebhook('a secret', body)
    expect(verifyWebhookSignature('a secret', body, [signature])).toBe(false)
    expect(verifyWebhookSignature('a secret', JSON.parse(body), signature)).toBe(false)
    expect(verifyWebhookSignature(undefined as unknown as string, body, signWebhook('undefined', body))).toBe(false)
  })
})

describe('verifyStandardWebhook', () => {
  test('accepts a signature of signStandardWebhook, alone or among others', () => {
    fc.assert(
      fc.property(anySecret, anyBody, anyId, anyTimestamp, (secret, body, id, seconds) => {
        const signature = signStandardWebhook(secret, { id, timestamp: seconds }, body)
        const other = signStandardWebhook(`${secret}!`, { id, timestamp: seconds }, body)
        const timestamp = String(seconds)
        for (const list of [signature, `${other} ${signature}`, `${signature} v2,x ${other}`]) {
          expect(verifyStandardWebhook(secret, body, { id, timestamp, signature: list }, at(seconds))).toBe(true)
        }
        expect(verifyStandardWebhook(secret, body, { id, timestamp, signature: other }, at(seconds))).toBe(false)
      }),
    )
  })

  test('refuses a change of a single bit of the body, id, timestamp or signature', () => {
    fc.assert(
      fc.property(anySecret, fc.uint8Array({ minLength: 1 }), anyTimestamp, fc.nat(), (secret, body, seconds, bit) => {
        const right = { id: 'msg_1', timestamp: String(seconds) }
        const signature = signStandardWebhook(secret, { ...right, timestamp: seconds }, body)
        const options = { ...at(seconds), toleranceSeconds: Number.POSITIVE_INFINITY }
        const refuses = (bytes: Uint8Array, changes: Partial<Record<'id' | 'timestamp' | 'signature', string>>) =>
          expect(verifyStandardWebhook(secret, bytes, { ...right, signature, ...changes }, options)).toBe(false)
        refuses(flipBit(body, bit), {})
        refuses(body, { id: flipTextBit(right.id, bit) })
        refuses(body, { timestamp: flipTextBit(right.timestamp, bit) })
        refuses(body, { signature: flipTextBit(signature, bit) })
      }),
      { numRuns: 500 },
    )
  })

  test('accepts a request for five minutes, or for the given tolerance', () => {
    const signedAt = (ageSeconds: number) => {
      const timestamp = Math.floor(Date.now() / 1000) - ageSeconds
      return { id: 'a', timestamp: String(timestamp), signature: signStandardWebhook('s', { id: 'a', timestamp }, '') }
    }
    expect(verifyStandardWebhook('s', '', signedAt(0))).toBe(true)
    expect(verifyStandardWebhook('s', '', signedAt(290))).toBe(true)
    expect(verifyStandardWebhook('s', '', signedAt(-290))).toBe(true)
    expect(verifyStandardWebhook('s', '', signedAt(302))).toBe(false)
    expect(verifyStandardWebhook('s', '', signedAt(-302))).toBe(false)
    expect(verifyStandardWebhook('s', '', signedAt(302), { toleranceSeconds: 600 })).toBe(true)
    for (const options of [{ now: new Date(Number.NaN) }, { toleranceSeconds: Number.NaN }]) {
      expect(verifyStandardWebhook('s', '', signedAt(0), options)).toBe(false)
    }
  })

  test('never throws, for any request', () => {
    const anything = fc.anything({ withTypedArray: true, withBigInt: true })
    fc.assert(
      fc.property(anything, anything, anything, anything, anything, (secret, body, id, timestamp, signature) => {
        const headers = { id, timestamp, signature } as { id: string; timestamp: string; signature: string }
        expect(verifyStandardWebhook(secret as string, body as string, headers)).toBe(false)
      }),
      { numRuns: 1000 },
    )
  })

  test('has a counterpart that refuses to sign ids and timestamps that it could not verify', () => {
    for (const id of ['', 'a.b', '.']) {
      expect(() => signStandardWebhook('s', { id, timestamp: 1 }, '')).toThrow(RangeError)
    }
    for (const timestamp of [-1, 1.5, Number.NaN, 1e15, Number.POSITIVE_INFINITY]) {
      expect(() => signStandardWebhook('s', { id: 'a', timestamp }, '')).toThrow(RangeError)
    }
  })
})

test('the helper imports only node:crypto, so that a studio needs no other file of the server', () => {
  const code = read('src/sdk/webhook.ts').replaceAll(/\/\*\*[\s\S]*?\*\//g, '')
  const imports = code.matchAll(/\bfrom '([^']+)'|\bimport\(|\brequire\(|\bimport '/g)
  expect([...imports].map(([, name]) => name)).toEqual(['node:crypto'])
})

describe('the page for studios', () => {
  const blocks = (language: string) =>
    [...read('docs/webhook.md').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, text]) =>
      name === language ? [text] : [],
    )

  test.each([
    ['ts', 'examples/receiver.mjs'],
    ['go', 'sdk/go/examples/receiver/main.go'],
  ])('shows in %s the tested receiver verbatim', (language, path) => {
    expect(blocks(language)).toContain(read(path))
  })
})

describe('the example receiver on the packed helper', () => {
  let home: string

  /** The package as it is installed, with its built helper, and the example beside it. */
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'tierway-sdk-'))
    const installed = join(home, 'node_modules/tierway-server')
    for (const folder of [installed, join(home, 'examples')]) await mkdir(folder, { recursive: true })
    await copyFile(join(ROOT, 'sdk/server/package.json'), join(installed, 'package.json'))
    await writeFile(join(home, 'package.json'), '{"type":"module"}')
    await copyFile(join(ROOT, 'examples/receiver.mjs'), join(home, 'examples/receiver.mjs'))
    await compile({
      extends: join(ROOT, 'tsconfig.build.json'),
      compilerOptions: {
        rootDir: join(ROOT, 'src'),
        outDir: join(installed, 'dist'),
        incremental: false,
        tsBuildInfoFile: null,
      },
      files: [join(ROOT, 'src/sdk/webhook.ts')],
      include: [],
    })
  })

  afterAll(() => rm(home, { recursive: true, force: true }))

  async function compile(config: Record<string, unknown> & { compilerOptions: Record<string, unknown> }) {
    const path = join(home, 'tsconfig.json')
    const compilerOptions = { ...config.compilerOptions, typeRoots: [join(ROOT, 'node_modules/@types')] }
    await writeFile(path, JSON.stringify({ ...config, compilerOptions }))
    await promisify(execFile)(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', path])
  }

  testReceiver((env) => startReceiver(process.execPath, ['examples/receiver.mjs'], env, { cwd: home }))

  test('is valid TypeScript with the types of the package', async () => {
    await copyFile(join(ROOT, 'examples/receiver.mjs'), join(home, 'examples/receiver.ts'))
    await compile({ extends: join(ROOT, 'tsconfig.json'), compilerOptions: {}, include: ['examples/receiver.ts'] })
  })
})

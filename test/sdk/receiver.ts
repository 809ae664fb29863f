import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { signStandardWebhook, signWebhook } from '../../src/sdk/webhook.ts'
import { endWithTests } from '../harness/children.ts'
import { without } from '../harness/needs.ts'
import { until } from '../harness/until.ts'

const START_DEADLINE_MS = 30_000
const MAX_BODY_BYTES = 2 ** 20

export const SECRET = 'the secret of "today", with 鍵 and $HOME'
export const OLD_SECRET = 'the one of yesterday'

/** A receiver as a studio runs it, in its own process. */
export interface Receiver {
  readonly url: string
  /** Its output, of stdout and stderr. */
  readonly output: string
  /** Null while it runs. */
  readonly exitCode: number | null
  stop(): Promise<void>
}

/** Starts a program on a free port, and waits until it listens or has ended. */
export async function startReceiver(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  options: SpawnOptions = {},
): Promise<Receiver> {
  const child: ChildProcess = spawn(command, args, {
    ...options,
    env: { PATH: process.env.PATH, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const append = (chunk: unknown) => {
    output += chunk
  }
  child.stdout?.on('data', append)
  child.stderr?.on('data', append)
  const exited = new Promise((resolve) => child.once('close', resolve))
  endWithTests(child)
  const urlOf = () => /^listening on (http:\/\/[\d.]+:\d+\/login)$/m.exec(output)?.[1] ?? ''
  await until('the receiver listens', () => urlOf() !== '' || child.exitCode !== null, {
    deadlineMs: START_DEADLINE_MS,
  })
  if (urlOf() === '') await exited
  return {
    url: urlOf(),
    get output() {
      return output
    },
    get exitCode() {
      return child.exitCode
    },
    async stop() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

interface Sent {
  readonly secret?: string
  /** Replaces what the service would send. */
  readonly headers?: Readonly<Record<string, string>>
  /** The signed text, when it is not the body. */
  readonly signed?: string
}

/** Calls a receiver as the service does. */
async function call({ url }: Receiver, body: string, { secret = SECRET, headers, signed = body }: Sent = {}) {
  const id = 'msg_019328c0-7b1e-7d3a-9c55-0d6f1e2a3b4c'
  const timestamp = Math.floor(Date.now() / 1000)
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-signature': signWebhook(secret, signed),
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signStandardWebhook(secret, { id, timestamp }, signed),
      ...headers,
    },
    body,
  })
  return { status: response.status, type: response.headers.get('content-type'), body: await response.json() }
}

const ADA = '{"customData":{"ticket":"ticket-of-ada"}}'
const ADAS_ANSWER = {
  subject: 'acct_1001',
  nickname: 'Ada',
  data: { founder: true, guild: { id: 7, name: 'Lanterns' } },
}

/** The tests of every example receiver, in any language. `start` runs it with these variables. */
export function testReceiver(start: (env: Readonly<Record<string, string>>) => Promise<Receiver>): void {
  async function withReceiver(use: (receiver: Receiver) => Promise<void>): Promise<void> {
    const receiver = await start({ WEBHOOK_SECRET: SECRET, WEBHOOK_SECRET_OLD: OLD_SECRET })
    try {
      await use(receiver)
      expect(receiver.exitCode, receiver.output).toBeNull()
    } finally {
      await receiver.stop()
    }
  }

  test('answers a signed login with subject, nickname and data, and prints a line (contract 2.3)', () =>
    withReceiver(async (receiver) => {
      const answer = await call(receiver, ADA)
      expect(answer).toEqual({ status: 200, type: 'application/json', body: ADAS_ANSWER })
      await until('the login is told', () => receiver.output.includes('login of acct_1001'))
    }))

  test('verifies the received bytes, not JSON that was serialized again (contract 4.4)', () =>
    withReceiver(async (receiver) => {
      const odd = '{"customData":{"b":1.0,"a":9007199254740993,"b":1e3,"n":"Zo\\u00eb 🎮", "ticket" :"ticket-of-ada"}}'
      expect(await call(receiver, odd)).toMatchObject({ status: 200, body: ADAS_ANSWER })
      expect(await call(receiver, odd, { signed: JSON.stringify(JSON.parse(odd)) })).toMatchObject({ status: 401 })
    }))

  test.each<[string, Sent]>([
    ['signed with another secret', { secret: 'a guess' }],
    ['signed for another body', { signed: '{"customData":{"ticket":"ticket-of-grace"}}' }],
    ['signed in upper case', { headers: { 'x-signature': signWebhook(SECRET, ADA).toUpperCase() } }],
    ['signed with a prefix', { headers: { 'x-signature': `sha256=${signWebhook(SECRET, ADA)}` } }],
    ['signed with an empty header', { headers: { 'x-signature': '' } }],
  ])('denies with 401 a request %s, and prints no login (contract 4.4)', (_what, sent) =>
    withReceiver(async (receiver) => {
      const answer = await call(receiver, ADA, sent)
      expect(answer).toEqual({ status: 401, type: 'application/json', body: { error: 'invalid signature' } })
      expect(receiver.output).not.toContain('login of')
    }),
  )

  test('denies with 401 a request without a signature (contract 4.4)', () =>
    withReceiver(async ({ url }) => {
      expect((await fetch(url, { method: 'POST', body: ADA })).status).toBe(401)
    }))

  test('accepts the old secret only while it is set (contract 2.3)', async () => {
    await withReceiver(async (receiver) => {
      expect(await call(receiver, ADA, { secret: OLD_SECRET })).toMatchObject({ status: 200 })
    })
    const receiver = await start({ WEBHOOK_SECRET: SECRET })
    try {
      expect(await call(receiver, ADA)).toMatchObject({ status: 200 })
      expect(await call(receiver, ADA, { secret: OLD_SECRET })).toMatchObject({ status: 401 })
    } finally {
      await receiver.stop()
    }
  })

  test('denies with 4xx any other customData of a game client (contract 4.4)', () =>
    withReceiver(async (receiver) => {
      const odd = ['null', '[]', '{}', '"ticket-of-ada"', '{"ticket":"ticket-of-eve"}', '{"ticket":["ticket-of-ada"]}']
      const names = ['__proto__', 'constructor', '', 'a\\u0000b\\nlogin of acct_1001'].map(
        (name) => `{"ticket":"${name}"}`,
      )
      for (const customData of [...odd, ...names, '{"ticket":null}', '{"subject":"acct_1001"}', '1e999']) {
        const { status, body } = await call(receiver, `{"customData":${customData}}`)
        expect([400, 401], customData).toContain(status)
        expect(body, customData).toEqual({ error: expect.any(String) })
      }
      expect(receiver.output).not.toContain('login of')
      expect(await call(receiver, ADA)).toMatchObject({ status: 200 })
    }))

  test('reads a body up to its limit, refuses a longer one with 413, and keeps working', () =>
    withReceiver(async (receiver) => {
      const padded = (length: number) =>
        ADA.replace('{"ticket', `{"pad":"${'x'.repeat(length - ADA.length - 9)}","ticket`)
      expect(Buffer.byteLength(padded(MAX_BODY_BYTES))).toBe(MAX_BODY_BYTES)
      expect(await call(receiver, padded(MAX_BODY_BYTES))).toMatchObject({ status: 200 })
      expect(await call(receiver, padded(MAX_BODY_BYTES + 1))).toMatchObject({ status: 413 })
      expect(await call(receiver, ADA)).toMatchObject({ status: 200 })
    }))

  test('survives a caller that disconnects in the middle of its body', () =>
    withReceiver(async (receiver) => {
      const { hostname, port } = new URL(receiver.url)
      const socket = connect(Number(port), hostname)
      await new Promise((resolve) => socket.once('connect', resolve))
      const head = `POST /login HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: 100\r\n\r\n{"cust`
      await new Promise((resolve) => socket.write(head, resolve))
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.destroy()
      await closed
      expect(await call(receiver, ADA)).toMatchObject({ status: 200 })
      // The receiver logs the broken call.
      await until('the broken call is told', () => /failed:|denied:/.test(receiver.output))
      expect(await call(receiver, ADA)).toMatchObject({ status: 200 })
    }))

  test.each([[{}], [{ WEBHOOK_SECRET: '' }], [{ WEBHOOK_SECRET_OLD: OLD_SECRET }]])(
    'does not start without a secret: %j',
    async (env) => {
      const receiver = await start(env)
      try {
        expect(receiver.url).toBe('')
        expect(receiver.exitCode).toBe(1)
        expect(receiver.output).toContain('WEBHOOK_SECRET is missing')
      } finally {
        await receiver.stop()
      }
    },
  )

  const skipped = without('curl', 'openssl')
  test.skipIf(skipped !== '')(`${skipped}prints commands that work`, () =>
    withReceiver(async (receiver) => {
      const commands = receiver.output.split('\n').filter((line) => line.startsWith('  '))
      expect(commands).toHaveLength(3)
      const { stdout } = await promisify(execFile)('sh', ['-euc', commands.join('\n')], {
        env: { PATH: process.env.PATH, WEBHOOK_SECRET: SECRET },
      })
      expect(stdout).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
      expect(JSON.parse(stdout.slice(stdout.indexOf('\r\n\r\n')))).toEqual(ADAS_ANSWER)
    }),
  )
}

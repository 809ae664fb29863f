import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isCleanText } from '../base/json.ts'
import { MAX_NAME } from '../base/limits.ts'
import { verifyStandardWebhook } from '../sdk/webhook.ts'

/** The studio of the demo project: the endpoint that a game's own backend would run. */
export interface DemoOperator {
  readonly url: string
  readonly secret: string
  close(): Promise<void>
}

/** The path of the demo's own provider. A provider that was set in its place has another path. */
export const DEMO_LOGIN_PATH = '/tierway-demo-login'

const MAX_BODY_BYTES = 2 * 2 ** 20

/** Starts the endpoint on loopback, with a secret of this run. */
export async function startDemoOperator(): Promise<DemoOperator> {
  const secret = randomBytes(32).toString('base64url')
  const server = createServer((request, response) => {
    answer(request, response, secret).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${DEMO_LOGIN_PATH}`,
    secret,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, secret: string): Promise<void> {
  const body = await readBody(request)
  // Verified over the received bytes: parsed and printed JSON may differ. Unlike `X-Signature`, this header has a
  // signature by each secret, so logins go on while the secret is replaced.
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = request.headers
  if (!verifyStandardWebhook(secret, body, { id, timestamp, signature })) {
    return send(response, 401, { error: 'the signature does not match' })
  }
  const player = readPlayer(body)
  if (player === undefined)
    return send(response, 403, { error: `customData.player must be a name of 1 to ${MAX_NAME} characters` })
  send(response, 200, {
    subject: `demo:${player}`,
    nickname: player[0]?.toUpperCase() + player.slice(1),
    data: { studio: { rank: 'founder' } },
  })
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > MAX_BODY_BYTES) throw new Error('the body is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * A signature proves the sender, not the content: `customData` comes from a game client and is checked like any input.
 */
function readPlayer(body: Buffer): string | undefined {
  const { customData } = JSON.parse(body.toString())
  const player: unknown = customData?.player
  const name = typeof player === 'string' ? player.trim() : ''
  return name !== '' && name.length <= MAX_NAME && isCleanText(name) ? name : undefined
}

function send(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

// A studio's login endpoint, small enough to copy. It listens on 127.0.0.1 and needs the secret of its provider:
//
//   WEBHOOK_SECRET=… PORT=5001 node examples/receiver.mjs
//
// While a secret is being replaced, WEBHOOK_SECRET_OLD is the previous one. It needs the package `tierway-server`. The
// file is valid TypeScript, too.
import { createServer } from 'node:http'
import { verifyWebhookSignature } from 'tierway-server/webhook'

/** The longest request of a game client that Tierway accepts, by the default of its MAX_BODY_BYTES. */
const MAX_BODY_BYTES = 2 ** 20

/**
 * Stands for the studio's own sessions: the tickets that its launcher or website gave to players, and their accounts.
 * A real ticket is long, random and short-lived.
 */
const accounts = new Map([
  ['ticket-of-ada', { id: 'acct_1001', nickname: 'Ada', data: { founder: true, guild: { id: 7, name: 'Lanterns' } } }],
  ['ticket-of-grace', { id: 'acct_1002', nickname: 'Grace', data: { founder: false } }],
])

const { WEBHOOK_SECRET = '', WEBHOOK_SECRET_OLD = '', PORT = '5001' } = process.env
if (WEBHOOK_SECRET === '') {
  console.error('WEBHOOK_SECRET is missing: the secret that the provider was set up with')
  process.exit(1)
}

const server = createServer(async (request, response) => {
  const answer = (status = 200, body = {}) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const deny = (status = 401, reason = '') => {
    console.log(`denied: ${reason}`)
    answer(status, { error: reason })
  }
  try {
    if (request.method !== 'POST' || request.url !== '/login') return deny(404, 'not found')

    // The signature covers the received bytes, so they are kept unchanged. A body that is too long is read and dropped.
    const chunks = []
    let length = 0
    for await (const chunk of request) {
      length += chunk.length
      if (length <= MAX_BODY_BYTES) chunks.push(chunk)
    }
    if (length > MAX_BODY_BYTES) return deny(413, 'payload too large')
    const body = Buffer.concat(chunks)
    const signature = request.headers['x-signature']
    const isSigned = [WEBHOOK_SECRET, WEBHOOK_SECRET_OLD].some((secret) =>
      verifyWebhookSignature(secret, body, signature),
    )
    if (!isSigned) return deny(401, 'invalid signature')

    // The content is signed, but comes from a game client: read only the ticket, and look it up in our own records.
    const { customData } = JSON.parse(body.toString())
    const account = accounts.get(customData?.ticket)
    if (!account) return deny(401, 'unknown ticket')

    console.log(`login of ${account.id}`)
    answer(200, { subject: account.id, nickname: account.nickname, data: account.data })
  } catch (error) {
    // A fault of this endpoint, not a denial: Tierway asks again after a 5xx.
    console.error('failed:', error)
    if (!response.headersSent) answer(500, { error: 'internal error' })
  }
})

server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : PORT}/login`
  console.log(`listening on ${url}

Try it, with the same WEBHOOK_SECRET in that terminal:
  BODY='{"customData":{"ticket":"ticket-of-ada"}}'
  SIGNATURE=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" -r | cut -d' ' -f1)
  curl -i ${url} -H "X-Signature: $SIGNATURE" --data-binary "$BODY"
`)
})

// A back end for pages of a browser, which cannot keep a platform key: it knows who is logged in to the studio, and
// exchanges that for an operator token, by which the page then calls Tierway itself. It listens on 127.0.0.1.
//
//   TIERWAY_URL=http://127.0.0.1:4000 TIERWAY_KEY=twplat_… PORT=5002 node examples/operator-tokens.mjs
//
// The key's role is the most that a token may. The file is valid TypeScript as it stands.
import { createServer } from 'node:http'

const { TIERWAY_URL = 'http://127.0.0.1:4000', TIERWAY_KEY = '', PORT = '5002' } = process.env

/** Stands for the studio's own sessions. A real one is long, random and soon over. */
const sessions = new Map([
  ['session-of-ada', { actor: 'ada@studio.example', role: 'OPERATOR' }],
  ['session-of-grace', { actor: 'grace@studio.example', role: 'VIEWER' }],
])
const CREATE = `mutation ($input: CreateOperatorTokenInput!) {
  createOperatorToken(input: $input) { token role actor expiresAt }
}`

const server = createServer(async (request, response) => {
  const answer = (status = 200, body = {}) =>
    // No cache may keep a token.
    void response
      .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
      .end(JSON.stringify(body))
  if (request.method !== 'POST' || request.url !== '/operator-token') return answer(404, { error: 'not found' })
  const [, session = ''] = /(?:^|; )session=([^;]*)/.exec(request.headers.cookie ?? '') ?? []
  const person = sessions.get(session)
  if (!person) return answer(401, { error: 'not logged in' })
  try {
    const input = { ...person, expiresInSeconds: 900, reason: 'the dashboard was opened' }
    const made = await fetch(`${TIERWAY_URL}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TIERWAY_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: CREATE, variables: { input } }),
    })
    const { data, errors } = JSON.parse(await made.text())
    if (errors) throw new Error(errors[0].message)
    answer(200, data.createOperatorToken)
  } catch (error) {
    console.error('failed:', error)
    answer(502, { error: 'no token can be had now' })
  }
})

server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : PORT
  console.log(`listening on http://127.0.0.1:${port}/operator-token`)
})

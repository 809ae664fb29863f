// A back end for pages in a browser, which cannot keep a platform key. It knows the signed-in person, and
// creates an operator token for that person. The page then calls Tierway with it. It listens on 127.0.0.1.
//
//   TIERWAY_URL=http://127.0.0.1:4000 TIERWAY_KEY=twplat_… PORT=5002 node examples/operator-tokens.mjs
//
// A token has at most the key's role. The file is valid TypeScript, too.
import { createServer } from 'node:http'

const { TIERWAY_URL = 'http://127.0.0.1:4000', TIERWAY_KEY = '', PORT = '5002' } = process.env

/** Stands for the studio's sessions. A real session id is long, random and short-lived. */
const sessions = new Map([
  ['session-of-ada', { actor: 'ada@studio.example', role: 'OPERATOR' }],
  ['session-of-grace', { actor: 'grace@studio.example', role: 'VIEWER' }],
])
const CREATE = `mutation ($input: CreateOperatorTokenInput!) {
  createOperatorToken(input: $input) { token role actor expiresAt }
}`

const server = createServer(async (request, response) => {
  const answer = (status = 200, body = {}) =>
    // A token must not be cached.
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

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// The least that a service in Node can do: it reads the body of a POST and answers a fixed JSON. No token, no rules, no
// database.

const ANSWER = '{"level":12,"xp":7345,"leveledUp":false,"maxLevel":false,"plan":null}'
const HEAD = { 'content-type': 'application/json', 'content-length': ANSWER.length }

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => response.writeHead(200, HEAD).end(ANSWER))
})

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
// The benchmark that started it has ended.
process.on('disconnect', () => process.exit())

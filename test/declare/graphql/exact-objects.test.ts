import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { RawJson } from '../../../src/base/json.ts'
import { plainJson } from '../../../src/declare/graphql/scalars.ts'
import { type Game, type GraphqlAnswer, startGame, type TestPlayer } from '../../harness/game.ts'

// JSON that a caller sends as an object is kept as its text: `JSON.parse` would round, reorder and drop.

const SET = 'mutation Set($input: SetStorageInput!) { setStorage(input: $input) { storage { key value } } }'
const VALUE = '{"id":76561198000000001,"f":1.0,"big":1e400,"b":1,"2":0,"1":0,"twice":1,"twice":2,"s":"\\u0041\\/"}'
/** A fault of JSON.parse would show in any of them. */
const VARIABLES = `{ "input" : {"values": {"a": ${VALUE}, "n": 9007199254740993} } }`

let home: string
let game: Game
let player: TestPlayer

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'tierway-exact-'))
  const file = join(home, 'operations.json')
  await writeFile(file, JSON.stringify({ [hash('sha256', SET)]: SET }))
  game = await startGame({ PERSISTED_OPERATIONS: file })
  player = await game.player()
})
afterAll(async () => {
  await game?.stop()
  if (home) await rm(home, { recursive: true })
})

async function post(body: string, accept: string): Promise<GraphqlAnswer> {
  const headers = { authorization: `Bearer ${player.token}`, 'content-type': 'application/json', accept }
  const response = await fetch(`${game.baseUrl}/graphql`, { method: 'POST', headers, body })
  const text = await response.text()
  return JSON.parse(/^data: ?(\{.*)$/m.exec(text)?.[1] ?? text)
}

async function overSocket(body: string): Promise<GraphqlAnswer> {
  const socket = new WebSocket(`${game.baseUrl.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  await once(socket, 'open')
  const next = async () => JSON.parse(String((await once(socket, 'message'))[0]))
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${player.token}` } }))
  await next()
  socket.send(`{"id":"1","payload":${body},"type":"subscribe"}`)
  const { type, payload } = await next()
  socket.close()
  return type === 'next' ? payload : { data: null, errors: payload }
}

const transports: [name: string, send: (body: string) => Promise<GraphqlAnswer>][] = [
  ['HTTP', (body) => post(body, 'application/json')],
  ['server-sent events', (body) => post(body, 'text/event-stream')],
  ['WebSocket', overSocket],
]

describe.each(transports)('an object of JSON over %s', (_name, send) => {
  const stored = [
    { key: 'a', value: VALUE },
    { key: 'n', value: '9007199254740993' },
  ]

  it('keeps its text, from variables, in a document that is new, known or persisted', async () => {
    for (const named of [
      `"query": ${JSON.stringify(`${SET} # ${_name}`)}`,
      `"query": ${JSON.stringify(`${SET} # ${_name}`)}`,
      `"query": "", "documentId": "${hash('sha256', SET)}"`,
    ]) {
      const { data, errors } = await send(`{${named}, "variables": ${VARIABLES}}`)
      expect([named, errors, data?.setStorage.storage]).toEqual([named, undefined, stored])
    }
  })

  it('keeps its text from a variable of its own, also inside a literal, and as a text', async () => {
    for (const [query, variables] of [
      [
        'mutation ($v: JSONObject!) { setStorage(input: { values: $v }) { storage { key value } } }',
        `{"v": {"a":${VALUE}}}`,
      ],
      [
        'mutation ($v: JSONObject!) { setStorage(input: { values: { a: $v } }) { storage { key value } } }',
        `{"v": ${VALUE}}`,
      ],
      [SET, `{"input":{"values":${JSON.stringify(`{"a":${VALUE}}`)}}}`],
    ]) {
      const { data, errors } = await send(`{"query": ${JSON.stringify(query)}, "variables": ${variables}}`)
      expect([query, errors, data?.setStorage.storage]).toEqual([query, undefined, stored.slice(0, 1)])
    }
  })

  it('keeps the digits of a literal, and of an Int64 inside', async () => {
    const query = `mutation ($n: Int64) {
      setStorage(input: { values: { a: 76561198000000001, b: 1.0, c: 1e400, d: $n, e: [1.50] } }) { storage { key value } }
    }`
    const { data, errors } = await send(`{"query": ${JSON.stringify(query)}, "variables": {"n": "9007199254740993"}}`)
    expect(errors).toBeUndefined()
    expect(data.setStorage.storage.map(({ value }: { value: string }) => value)).toEqual([
      '76561198000000001',
      '1.0',
      '1e400',
      '9007199254740993',
      '[1.50]',
    ])
  })

  it('is refused with a variable inside that has lost its digits', async () => {
    const query = 'mutation ($f: Float) { setStorage(input: { values: { a: $f } }) { storage { key } } }'
    const { errors } = await send(`{"query": ${JSON.stringify(query)}, "variables": {"f": 9007199254740993}}`)
    expect(errors?.[0]).toMatchObject({
      message: 'Argument "input" has invalid value {values: {a: $f}}.',
      extensions: { code: 'INVALID_REQUEST' },
    })
  })
})

describe('JSON in an answer', () => {
  it('has numbers that a double cannot hold as strings', () => {
    expect(plainJson(new RawJson('[9007199254740993, 1e400, -1e400, 1.5]'))).toEqual([
      '9007199254740993',
      '1e400',
      '-1e400',
      1.5,
    ])
  })
})

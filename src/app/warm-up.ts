import { connect } from 'node:net'
import type { Pool, PoolClient } from 'pg'
import { createProject } from '../callers/projects.ts'
import type { Tokens } from '../callers/tokens.ts'
import { newId } from '../db/ids.ts'
import { createPlayer } from '../players/create-player.ts'
import type { HttpServer } from '../serve/http/server.ts'
import { createGroupCommit, type GroupCommit } from '../transactions/group-commit.ts'
import { createMemory } from '../transactions/memory.ts'
import type { Service } from './service.ts'

// V8 compiles what runs often, so that the first thousands of calls after a start cost several times as much as later
// ones. Calls of made-up players come before those of real ones. Their rows are rolled back.

export interface WarmUpOptions {
  /** That of groups. */
  readonly pool: Pool
  /** Serves calls whose commands run here. */
  readonly open: (run: Service['run']) => HttpServer
  readonly tokens: Pick<Tokens, 'issueAccessToken'>
  readonly isOver: () => boolean
}

/** By then V8 has compiled most of what calls use, mostly in threads of its own. */
const CALLS = 3_000
/** On a slow machine the warm-up ends before. */
const MOST_MS = 4_000
/** Groups from memory are proven only within a second of the clock at the start of their transaction. */
const ROUND_MS = 800
const CONNECTIONS = 8
const LEVELS = 40
const XP = 30
/** The calls that reach the next level. */
const XP_CALLS = 4

/** Makes calls of every kind that players make often, over HTTP. */
export async function warmUp(options: WarmUpOptions): Promise<void> {
  const ended = performance.now() + MOST_MS
  let left = CALLS
  const isOver = () => options.isOver() || left <= 0 || performance.now() > ended
  while (!isOver()) await warmUpOnce({ ...options, isOver }, () => (left -= 1))
}

async function warmUpOnce({ pool, open, tokens, isOver }: WarmUpOptions, count: () => void): Promise<void> {
  const client = await pool.connect()
  const ended = performance.now() + ROUND_MS
  const isDone = () => performance.now() > ended || isOver()
  try {
    await client.query('BEGIN')
    const own = poolWithin(client)
    const memory = createMemory()
    const game = createGroupCommit({ pool: own, memory, connections: 1 })
    const reads = createGroupCommit({ pool: own, memory, connections: 1, readOnly: true })
    const run: GroupCommit['run'] = (command, admit) => (command.engine === 'reads' ? reads : game).run(command, admit)
    const server = open(run)
    const port = await server.listen(0, '127.0.0.1')
    try {
      const { projectId, environments } = await createProject(own, { name: newId(), environments: [ENVIRONMENT] })
      const environmentId = environments.get(ENVIRONMENT) as string
      await publish(own, environmentId)
      const play = async (): Promise<void> => {
        const caller = openCaller(port, count)
        try {
          while (!isDone()) {
            const player = await run(createPlayer(environmentId, null))
            await playSeason(caller, await tokens.issueAccessToken({ ...player, projectId }), isDone)
          }
        } finally {
          caller.close()
        }
      }
      await Promise.all(Array.from({ length: CONNECTIONS }, play))
    } finally {
      await server.close()
      await Promise.all([game.close(), reads.close()])
    }
  } finally {
    await client.query('ROLLBACK').then(
      () => client.release(),
      (error) => client.release(error),
    )
  }
}

const ENVIRONMENT = 'warm-up'
const SCENARIO = 'warm-up'
const PASS = { scenarioId: SCENARIO, nodeId: 'pass' }
const DEFINITION = JSON.stringify({
  name: 'Warm-up',
  start: 'start',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'gift', type: 'reward', data: { rewards: [{ currency: 'gems', amount: 10 }] } },
    {
      id: 'pass',
      type: 'battle-pass',
      data: {
        levels: Array.from({ length: LEVELS }, (_, index) => ({ level: index + 1, xp: index * XP * XP_CALLS })),
        tiers: Array.from({ length: LEVELS }, (_, index) => ({
          level: index + 1,
          track: index % 2 === 0 ? 'free' : 'premium',
          rewards: [{ currency: 'gold', amount: 5 }],
        })),
        premium: { price: { currency: 'gems', amount: 10 } },
      },
    },
  ],
  edges: [
    { from: 'start', handle: 'onStart', to: 'gift' },
    { from: 'gift', handle: 'onComplete', to: 'pass' },
  ],
})

/** Without the locks of a publication, which other instances would wait for. */
async function publish(pool: Pool, environmentId: string): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('INSERT INTO scenarios (environment_id, id, version) VALUES ($1, $2, 1)', [
      environmentId,
      SCENARIO,
    ])
    await client.query(
      'INSERT INTO scenario_versions (environment_id, scenario_id, version, definition) VALUES ($1, $2, 1, $3)',
      [environmentId, SCENARIO, DEFINITION],
    )
  } finally {
    client.release()
  }
}

/** A player buys premium, reaches a level with every few calls, and claims its tier. */
async function playSeason({ call }: Caller, token: string, isDone: () => boolean): Promise<void> {
  const { runId } = await call('scenarios/start', token, { scenarioId: SCENARIO })
  const here = { ...PASS, runId }
  await call('battlepass/premium', token, { ...here, idempotencyKey: newId() })
  for (let level = 1; level < LEVELS && !isDone(); level += 1) {
    for (let turn = 0; turn < XP_CALLS; turn += 1)
      await call('battlepass/xp', token, { ...here, amount: XP, source: 'warm-up' })
    await call('battlepass/claim', token, { ...here, level, track: level % 2 === 1 ? 'free' : 'premium' })
    await call('battlepass/progress', token, PASS)
  }
}

interface Caller {
  call(path: string, token: string, body: object): Promise<{ readonly runId: string }>
  close(): void
}

/** A client with one connection and one call at a time. A library would use more CPU time than the warmed calls. */
function openCaller(port: number, count: () => void): Caller {
  const socket = connect(port, '127.0.0.1').setNoDelay(true)
  let received = ''
  let waiting: { resolve: (answer: string) => void; reject: (error: unknown) => void } | undefined
  const fail = (error: unknown): void => waiting?.reject(error)
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the connection was closed')))
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    const end = received.indexOf('\r\n\r\n')
    if (end < 0 || received.length < end + 4 + Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0)) return
    const answer = received
    received = ''
    if (answer.startsWith('HTTP/1.1 200')) waiting?.resolve(answer.slice(end + 4))
    else fail(new Error(`a call was refused: ${answer}`))
  })
  return {
    async call(path, token, body) {
      // Nothing would answer: the event of the end is over.
      if (socket.destroyed) throw new Error('the connection was closed')
      count()
      const text = JSON.stringify(body)
      const answer = await new Promise<string>((resolve, reject) => {
        waiting = { resolve, reject }
        socket.write(
          `POST /sdk/v1/${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n` +
            `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
        )
      })
      return JSON.parse(answer)
    },
    close: () => socket.destroy(),
  }
}

/** What a transaction within the transaction does instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  BEGIN: 'SAVEPOINT warm_up',
  COMMIT: 'RELEASE SAVEPOINT warm_up',
  ROLLBACK: 'ROLLBACK TO SAVEPOINT warm_up',
}

/** A pool of one connection, within its transaction. */
function poolWithin(client: PoolClient): Pool {
  const waiting: (() => void)[] = []
  let isFree = true
  const own: PoolClient = Object.create(client)
  own.query = ((query: string | { readonly text: string }, ...others: unknown[]) => {
    const text = typeof query === 'string' ? query : query.text
    const command = text.split(' ', 1)[0] as string
    const instead = INSTEAD[command]
    if (instead === undefined) return (client.query as (...all: unknown[]) => unknown).call(client, query, ...others)
    const [callback] = others
    if (typeof callback !== 'function') return client.query(instead)
    return client.query(instead, (error, result) => callback(error, result && { ...result, command }))
  }) as PoolClient['query']
  own.release = () => {
    const next = waiting.shift()
    if (next) next()
    else isFree = true
  }
  const connect = async (): Promise<PoolClient> => {
    if (!isFree) await new Promise<void>((resolve) => waiting.push(resolve))
    isFree = false
    return own
  }
  return {
    connect,
    get waitingCount() {
      return waiting.length
    },
  } as unknown as Pool
}

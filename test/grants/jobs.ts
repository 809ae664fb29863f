import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { Pool } from 'pg'
import { expect } from 'vitest'
import { runJobs } from '../../src/operations/grants/run-jobs.ts'
import type { Game, GraphqlAnswer, TestPlayer } from '../harness/game.ts'
import { until } from '../harness/until.ts'
import { inputTypeOf } from '../serve/graphql/documents.ts'

// Grant jobs over GraphQL, run beside the service so that tests need not wait for its next look.

export const JOB = `jobId state note players granted failed total { currency itemId amount } totalXp reason operator
  failedByCause { cause players } undoOf { jobId } undos { jobId state } approvedBy finishedAt`

/** A value with its 64-bit integers as GraphQL's variables carry them. */
const sent = (value: unknown) =>
  JSON.parse(JSON.stringify(value, (_key, one) => (typeof one === 'bigint' ? String(one) : one)))

let keys = 0
export const newKey = (): string => {
  keys += 1
  return `grant-${keys}`
}

export type Credentials = Parameters<Game['graphql']>[0]

export class Desk {
  readonly game: Game
  readonly as: Credentials
  /** The instance that runs its jobs. Desks that run jobs at once must have separate ones, as instances have. */
  private readonly holder: string

  constructor(game: Game, as: Credentials = game.platformKey, holder: string = HOLDER) {
    this.game = game
    this.as = as
    this.holder = holder
  }

  /** The same desk for another operator. */
  of(as: Credentials): Desk {
    return new Desk(this.game, as, this.holder)
  }

  mutate(name: string, input: object, selection = `job { ${JOB} } auditEntry { action }`): Promise<GraphqlAnswer> {
    const document = `mutation ($input: ${inputTypeOf(name)}!) { ${name}(input: $input) { ${selection} } }`
    return this.game.graphql(this.as, document, {
      input: sent({ environment: 'production', reason: 'test', ...input }),
    })
  }

  async must(name: string, input: object, selection?: string) {
    const { data, errors } = await this.mutate(name, input, selection)
    expect(errors).toBeUndefined()
    return data[name]
  }

  /** The faults of a refused mutation: `path: message`. */
  async refused(name: string, input: object, selection?: string): Promise<string[]> {
    const { data, errors } = await this.mutate(name, input, selection)
    expect(data?.[name] ?? null).toBeNull()
    const faults = errors?.[0]?.extensions.details as { path: string; message: string }[] | undefined
    return faults?.map(({ path, message }) => `${path}: ${message}`) ?? [errors?.[0]?.extensions.code ?? '']
  }

  /** Makes a job and gives its id. */
  async create(input: object): Promise<string> {
    const { job } = await this.must('createGrantJob', { idempotencyKey: newKey(), ...input })
    return job.jobId
  }

  /** Makes a job that is about to give, and that only `runner` runs: it waited for approval. */
  async held(create: () => Promise<string>): Promise<string> {
    await this.must('setGrantPolicy', { approvalAbovePlayers: 0 }, 'auditEntry { id }')
    const jobId = await create()
    await this.reaches(jobId, 'AWAITING_APPROVAL')
    await this.must('setGrantPolicy', {}, 'auditEntry { id }')
    await this.resume(jobId)
    return jobId
  }

  /** Lets only `runner` go on with a job that nobody runs. */
  async resume(jobId: string): Promise<void> {
    await this.game.app.pool.query(
      `UPDATE grant_jobs SET state = 'running', holder = $2, held_until = now() + interval '1 hour' WHERE id = $1`,
      [jobId, this.holder],
    )
  }

  async read(jobId: string, selection = JOB) {
    const document = `query ($jobId: ID!) { grantJob(environment: "production", jobId: $jobId) { ${selection} } }`
    const { data, errors } = await this.game.graphql(this.as, document, { jobId })
    expect(errors).toBeUndefined()
    return data.grantJob
  }

  async players(jobId: string) {
    const selection = `jobPlayers(first: 200) { nodes { playerId outcome cause amount granted { currency itemId amount } messageId } }`
    return (await this.read(jobId, selection)).jobPlayers.nodes
  }

  /** Runs jobs until this one has a state. */
  async reaches(jobId: string, ...states: string[]) {
    let job: Awaited<ReturnType<Desk['read']>>
    await until(`the job is ${states.join(' or ')}`, async () => {
      await runJobs({ ...runner(this.game), holder: this.holder })
      job = await this.read(jobId)
      return states.includes(job.state)
    })
    return job
  }

  /** Runs a job to its end on instances that die, two at once. */
  async survives(jobId: string, deaths: readonly Death[]) {
    for (let at = 0; at < deaths.length; at += 2)
      await Promise.allSettled(deaths.slice(at, at + 2).map((one) => runJobs(mortal(this.game, one))))
    // Nobody releases what a dead instance holds.
    await this.game.app.pool.query('UPDATE grant_jobs SET held_until = now() WHERE holder IS NOT NULL AND id = $1', [
      jobId,
    ])
    return this.reaches(jobId, 'DONE')
  }

  /** Makes a job, and runs it to its end. */
  async give(input: object) {
    return this.reaches(await this.create(input), 'DONE', 'FAILED')
  }

  async preview(input: object) {
    const document = `query ($input: PreviewGrantJobInput!) { previewGrantJob(input: $input) { players isExact needsApproval totalXp
      total { currency itemId amount } largest { playerId amount } failing { cause players } } }`
    const { data, errors } = await this.game.graphql(this.as, document, {
      input: sent({ environment: 'production', ...input }),
    })
    expect(errors).toBeUndefined()
    return data.previewGrantJob
  }

  list(csv: string, query = 'environment=production') {
    return this.game.request('POST', `/platform/v1/projects/${this.game.projectId}/player-lists?${query}`, {
      body: csv,
      headers: { authorization: `Bearer ${this.as}`, 'content-type': 'text/csv' },
    })
  }
}

const HOLDER = '01900000-0000-7000-8000-0000000000aa'

export const runner = (game: Game, run: Game['app']['service']['run'] = game.app.service.run) => ({
  ...{ pool: game.app.pool, run, signal: new AbortController().signal, holder: HOLDER },
})

export async function holdingsOf({ app }: Game, { playerId }: Pick<TestPlayer, 'playerId'>) {
  const { rows } = await app.pool.query(
    `SELECT currency AS name, balance::text AS amount FROM wallets WHERE player_id = $1
     UNION ALL SELECT item_id, amount::text FROM inventory WHERE player_id = $1 ORDER BY 1`,
    [playerId],
  )
  return Object.fromEntries(rows.map(({ name, amount }) => [name, amount]))
}

/** After so many steps, statements and commands, an instance dies: before or after the last one was carried out. */
export interface Death {
  readonly steps: number
  readonly isAfter: boolean
}
export const death = fc.record({ steps: fc.integer({ min: 1, max: 200 }), isAfter: fc.boolean() })

function mortal(game: Game, { steps, isAfter }: Death): Parameters<typeof runJobs>[0] {
  let left = steps
  const dead = new Error('the instance died')
  async function live<T>(act: () => Promise<T>): Promise<T> {
    left -= 1
    if (left < 0 || (left === 0 && !isAfter)) throw dead
    const result = await act()
    if (left <= 0) throw dead
    return result
  }
  const { pool, service } = game.app
  const query = (...args: Parameters<Pool['query']>) => live(() => pool.query(...args) as unknown as Promise<unknown>)
  return {
    ...{ signal: new AbortController().signal, holder: randomUUID(), heldMs: 150 },
    // A connection that is made after the death would never come back.
    pool: { query, connect: () => live(async () => undefined).then(() => pool.connect()) } as unknown as Pool,
    run: ((command: never) => live(() => service.run(command))) as Parameters<typeof runJobs>[0]['run'],
  }
}

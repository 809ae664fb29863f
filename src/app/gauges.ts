import type { Pool } from 'pg'
import { Gauge, type Registry } from 'prom-client'
import type { Webhook } from '../accounts/webhook/webhook.ts'
import { COMMIT, VERSION } from '../base/version.ts'
import type { Replica } from '../db/replica.ts'
import type { Numbering } from '../events/numbering.ts'
import type { Subscriptions } from '../events/subscriptions.ts'
import type { Folding } from '../operations/figures/fold.ts'
import type { Readiness } from '../serve/http/health.ts'
import type { GroupCommit } from '../transactions/group-commit.ts'
import type { Memory } from '../transactions/memory.ts'
import type { Partitions } from './partitions.ts'

export interface GaugeSources {
  readonly pools: Readonly<Record<string, Pool>>
  readonly engines: Readonly<Record<string, GroupCommit>>
  readonly memory: Memory
  readonly subscriptions: Subscriptions
  readonly numbering: Numbering
  readonly folding: Folding
  readonly partitions: Pick<Partitions, 'states'>
  readonly webhook: Pick<Webhook, 'openBreakers'>
  /** Null without Redis. */
  readonly isRedisConnected: (() => boolean) | null
  /** Null without a replica. */
  readonly replica: Replica | null
  readonly endedLogins: () => number
  readonly endedFollowers: () => number
  readonly ready: () => Promise<Readiness>
}

/** Gauges that are read when they are scraped, so that they cost calls nothing. */
export function addGauges(registry: Registry, sources: GaugeSources): void {
  const gauges = new Gauges(registry)
  addBuild(gauges)
  addEngines(gauges, sources)
  addReadiness(gauges, sources)
  addMemory(gauges, sources)
  addStream(gauges, sources)
  gauges.add(
    'tierway_figures_age_seconds',
    'Time since this instance last found all changes added to the figures.',
    () => sources.folding.age(),
  )
  gauges.add(
    'tierway_webhook_breakers_open',
    'Providers whose webhook keeps failing, so that its calls fail at once.',
    () => sources.webhook.openBreakers(),
  )
  addPartitions(gauges, sources)
  addNeighbours(gauges, sources)
}

type Labels<Name extends string> = Readonly<Record<Name, string>>

class Gauges {
  private readonly registry: Registry

  constructor(registry: Registry) {
    this.registry = registry
  }

  add(name: string, help: string, read: () => number | Promise<number>): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      async collect() {
        this.set(await read())
      },
    })
  }

  /** A gauge with a value for each set of labels that `read` gives. */
  addLabelled<Name extends string>(
    name: string,
    help: string,
    labelNames: readonly Name[],
    read: () => Iterable<readonly [labels: Labels<Name>, value: number]>,
  ): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        for (const [labels, value] of read()) this.set(labels, value)
      },
    })
  }
}

function addBuild(gauges: Gauges): void {
  gauges.addLabelled(
    'tierway_build_info',
    'Always 1. The labels are the version of Tierway, the commit of its build, and the version of Node.',
    ['version', 'commit', 'node'],
    () => [[{ version: VERSION, commit: COMMIT, node: process.versions.node }, 1]],
  )
}

function addEngines(gauges: Gauges, { pools, engines }: GaugeSources): void {
  gauges.addLabelled(
    'tierway_database_connections',
    'Connections to Postgres by pool: in use, idle, and calls that wait for one.',
    ['pool', 'state'],
    () =>
      Object.entries(pools).flatMap(([pool, { totalCount, idleCount, waitingCount }]) => [
        [{ pool, state: 'used' }, totalCount - idleCount],
        [{ pool, state: 'idle' }, idleCount],
        [{ pool, state: 'waiting' }, waitingCount],
      ]),
  )
  gauges.addLabelled('tierway_queued_commands', 'Commands that wait for a group commit.', ['kind'], () =>
    Object.entries(engines).map(([kind, { queued }]) => [{ kind }, queued]),
  )
}

function addReadiness(gauges: Gauges, { ready }: GaugeSources): void {
  gauges.add('tierway_ready', 'The answer of /readyz: 1 for 200, 0 for 503.', async () =>
    (await ready()).isUp ? 1 : 0,
  )
  gauges.add(
    'tierway_writes_refused',
    '1 while Postgres answers and refuses writes: its disk is full, or it is read-only.',
    async () => ((await ready()).isReadOnly ? 1 : 0),
  )
}

function addMemory(gauges: Gauges, { memory, endedLogins, endedFollowers }: GaugeSources): void {
  gauges.add('tierway_remembered_players', 'Players whose rows are in memory.', () => memory.size)
  gauges.add('tierway_remembered_bytes', 'Estimated memory of these rows.', () => memory.bytes)
  gauges.add('tierway_ended_logins', 'Ended logins in memory, whose tokens are refused.', endedLogins)
  gauges.add('tierway_ended_login_followers', 'Open streams of ended logins, of game servers.', endedFollowers)
}

function addStream(gauges: Gauges, { subscriptions, numbering }: GaugeSources): void {
  gauges.add('tierway_stream_lag_events', 'Events that this instance knows to exist and has not read.', () =>
    subscriptions.lag(),
  )
  gauges.add('tierway_events_unnumbered', 'Committed events that have no position in their stream yet.', () =>
    numbering.waiting(),
  )
  gauges.add('tierway_events_unnumbered_seconds', 'The age of the oldest of them: subscribers wait for it.', () =>
    numbering.age(),
  )
}

function addPartitions(gauges: Gauges, { partitions }: GaugeSources): void {
  gauges.addLabelled(
    'tierway_partitions_ahead_seconds',
    'Time until the last partition of a table ends.',
    ['table'],
    () => partitions.states().map(({ table, aheadSeconds }) => [{ table }, aheadSeconds]),
  )
  gauges.addLabelled(
    'tierway_rows_without_partition',
    '1 while the default partition of a table has rows.',
    ['table'],
    () => partitions.states().map(({ table, hasOthers }) => [{ table }, hasOthers ? 1 : 0]),
  )
}

/** Of the read replica and of Redis, where the service has them. */
function addNeighbours(gauges: Gauges, { isRedisConnected, replica }: GaugeSources): void {
  if (replica !== null)
    gauges.add('tierway_replica_age_seconds', 'Time since the read replica was last known to have all commits.', () =>
      replica.ageSeconds(),
    )
  if (isRedisConnected !== null)
    gauges.add('tierway_redis_connected', '1 while Redis carries signals, 0 while it is unreachable.', () =>
      isRedisConnected() ? 1 : 0,
    )
}

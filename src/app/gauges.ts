import type { Pool } from 'pg'
import { Gauge, type Registry } from 'prom-client'
import { COMMIT, VERSION } from '../base/version.ts'
import type { Replica } from '../db/replica.ts'
import type { Numbering } from '../events/numbering.ts'
import type { Subscriptions } from '../events/subscriptions.ts'
import type { Folding } from '../figures/fold.ts'
import type { Readiness } from '../serve/http/health.ts'
import type { GroupCommit } from '../transactions/group-commit.ts'
import type { Memory } from '../transactions/memory.ts'
import type { Webhook } from '../webhook/webhook.ts'
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
  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await read())
      },
    })

  new Gauge({
    name: 'tierway_build_info',
    help: 'Always 1. The labels are the version of Tierway, the commit of its build, and the version of Node.',
    labelNames: ['version', 'commit', 'node'],
    registers: [registry],
  }).set({ version: VERSION, commit: COMMIT, node: process.versions.node }, 1)
  new Gauge({
    name: 'tierway_database_connections',
    help: 'Connections to Postgres by pool: in use, idle, and calls that wait for one.',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      for (const [pool, { totalCount, idleCount, waitingCount }] of Object.entries(sources.pools)) {
        this.set({ pool, state: 'used' }, totalCount - idleCount)
        this.set({ pool, state: 'idle' }, idleCount)
        this.set({ pool, state: 'waiting' }, waitingCount)
      }
    },
  })
  new Gauge({
    name: 'tierway_queued_commands',
    help: 'Commands that wait for a group commit.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const [kind, engine] of Object.entries(sources.engines)) this.set({ kind }, engine.queued)
    },
  })
  gauge('tierway_ready', 'The answer of /readyz: 1 for 200, 0 for 503.', async () =>
    (await sources.ready()).isUp ? 1 : 0,
  )
  gauge(
    'tierway_writes_refused',
    '1 while Postgres answers and refuses writes: its disk is full, or it is read-only.',
    async () => ((await sources.ready()).isReadOnly ? 1 : 0),
  )
  gauge('tierway_remembered_players', 'Players whose rows are in memory.', () => sources.memory.size)
  gauge('tierway_remembered_bytes', 'Estimated memory of these rows.', () => sources.memory.bytes)
  gauge('tierway_ended_logins', 'Ended logins in memory, whose tokens are refused.', sources.endedLogins)
  gauge('tierway_ended_login_followers', 'Open streams of ended logins, of game servers.', sources.endedFollowers)
  gauge('tierway_stream_lag_events', 'Events that this instance knows to exist and has not read.', () =>
    sources.subscriptions.lag(),
  )
  gauge('tierway_events_unnumbered', 'Committed events that have no position in their stream yet.', () =>
    sources.numbering.waiting(),
  )
  gauge('tierway_events_unnumbered_seconds', 'The age of the oldest of them: subscribers wait for it.', () =>
    sources.numbering.age(),
  )
  gauge('tierway_figures_age_seconds', 'Time since this instance last found all changes added to the figures.', () =>
    sources.folding.age(),
  )
  gauge('tierway_webhook_breakers_open', 'Providers whose webhook keeps failing, so that its calls fail at once.', () =>
    sources.webhook.openBreakers(),
  )
  new Gauge({
    name: 'tierway_partitions_ahead_seconds',
    help: 'Time until the last partition of a table ends.',
    labelNames: ['table'],
    registers: [registry],
    collect() {
      for (const { table, aheadSeconds } of sources.partitions.states()) this.set({ table }, aheadSeconds)
    },
  })
  new Gauge({
    name: 'tierway_rows_without_partition',
    help: '1 while the default partition of a table has rows.',
    labelNames: ['table'],
    registers: [registry],
    collect() {
      for (const { table, hasOthers } of sources.partitions.states()) this.set({ table }, hasOthers ? 1 : 0)
    },
  })
  const { isRedisConnected, replica } = sources
  if (replica !== null) {
    gauge('tierway_replica_age_seconds', 'Time since the read replica was last known to have all commits.', () =>
      replica.ageSeconds(),
    )
  }
  if (isRedisConnected !== null) {
    gauge('tierway_redis_connected', '1 while Redis carries signals, 0 while it is unreachable.', () =>
      isRedisConnected() ? 1 : 0,
    )
  }
}

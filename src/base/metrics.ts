import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** A group of commands that was committed together. */
export interface ObservedGroup {
  readonly size: number
  readonly seconds: number
  /** The wait of its oldest call. */
  readonly waitSeconds: number
  /** Whether it decided on remembered rows. */
  readonly isFromMemory: boolean
  /** Its commands that must run again, since their remembered rows were missing or not current. */
  readonly unproven: number
}

/** The metrics for the person on call. Labels come from our own tables, never from a request. */
export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  return {
    registry,
    ...metricsOfRequests(registers),
    ...metricsOfGraphql(registers),
    ...metricsOfCommands(registers),
    ...metricsOfAccess(registers),
    ...metricsOfTasks(registers),
    ...metricsOfStream(registers),
  }
}

export type Metrics = ReturnType<typeof createMetrics>

function metricsOfRequests(registers: Registry[]) {
  const answers = new Map<string, Map<number, number>>()
  const requestSeconds = new Histogram({
    name: 'tierway_http_request_seconds',
    help: 'Time from a request to its answer.',
    labelNames: ['route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })
  return {
    requests: new Counter({
      name: 'tierway_http_requests_total',
      help: 'Answers by route and status.',
      labelNames: ['route', 'status'],
      registers,
      collect() {
        this.reset()
        for (const [route, counts] of answers) for (const [status, count] of counts) this.inc({ route, status }, count)
      },
    }),
    /** Counts a route's answers in plain numbers: prom-client would look up the labels for each answer. */
    answersOf(route: string): (status: number, milliseconds: number) => void {
      const counts = answers.get(route) ?? new Map<number, number>()
      answers.set(route, counts)
      const seconds = requestSeconds.labels(route)
      return (status, milliseconds) => {
        counts.set(status, (counts.get(status) ?? 0) + 1)
        seconds.observe(milliseconds / 1000)
      }
    },
  }
}

function metricsOfGraphql(registers: Registry[]) {
  const operations = new Map<
    string,
    { readonly seconds: Histogram.Internal<'operation'>; readonly counts: Map<string, number> }
  >()
  const operationSeconds = new Histogram({
    name: 'tierway_graphql_operation_seconds',
    help: 'Time that a GraphQL operation ran, by its name. For a subscription, the time until it begins.',
    labelNames: ['operation'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  })
  return {
    graphqlOperations: new Counter({
      name: 'tierway_graphql_operations_total',
      help: 'GraphQL operations that were run, by name and type. A subscription counts when it begins.',
      labelNames: ['operation', 'type'],
      registers,
      collect() {
        this.reset()
        for (const [operation, { counts }] of operations)
          for (const [type, count] of counts) this.inc({ operation, type }, count)
      },
    }),
    /** Counts an operation in plain numbers, like `answersOf`. The name must be from a bounded set. */
    countOperation(operation: string, type: string, milliseconds: number): void {
      const figures = operations.get(operation) ?? { seconds: operationSeconds.labels(operation), counts: new Map() }
      operations.set(operation, figures)
      figures.counts.set(type, (figures.counts.get(type) ?? 0) + 1)
      figures.seconds.observe(milliseconds / 1000)
    },
    operationErrors: new Counter({
      name: 'tierway_graphql_errors_total',
      help: 'Errors in answers to GraphQL requests, by the name of the operation and the code of the error.',
      labelNames: ['operation', 'code'],
      registers,
    }),
    documents: new Counter({
      name: 'tierway_graphql_documents_total',
      help: 'GraphQL documents that were run: persisted ones, and others.',
      labelNames: ['kind'],
      registers,
    }),
    deprecatedFields: new Counter({
      name: 'tierway_graphql_deprecated_fields_total',
      help: 'GraphQL operations that select a deprecated field or give a deprecated argument, such as `Mutation.grantBoost` or `Query.players(region)`.',
      labelNames: ['field'],
      registers,
    }),
    operationCost: new Histogram({
      name: 'tierway_graphql_cost',
      help: 'Cost of GraphQL operations, refused ones included.',
      buckets: [1, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000],
      registers,
    }),
  }
}

function metricsOfCommands(registers: Registry[]) {
  const commands = new Map<string, Readonly<Record<'memory' | 'transaction' | 'unproven', number>>>()
  const groupSize = new Histogram({
    name: 'tierway_group_commands',
    help: 'Commands per group commit.',
    labelNames: ['kind'],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers,
  })
  const groupSeconds = new Histogram({
    name: 'tierway_group_seconds',
    help: 'Duration of a group commit.',
    labelNames: ['kind'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5],
    registers,
  })
  const groupWait = new Histogram({
    name: 'tierway_group_wait_seconds',
    help: 'Time from the oldest call of a group to the start of its group commit.',
    labelNames: ['kind'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  })
  return {
    commands: new Counter({
      name: 'tierway_commands_total',
      help: 'Commands in group commits, by their path: on remembered rows, or in a transaction that reads them.',
      labelNames: ['kind', 'path'],
      registers,
      collect() {
        this.reset()
        for (const [kind, { memory, transaction }] of commands) {
          this.inc({ kind, path: 'memory' }, memory)
          this.inc({ kind, path: 'transaction' }, transaction)
        }
      },
    }),
    unproven: new Counter({
      name: 'tierway_unproven_commands_total',
      help: 'Commands whose remembered rows were missing or not current, and that ran again on rows from Postgres.',
      labelNames: ['kind'],
      registers,
      collect() {
        this.reset()
        for (const [kind, { unproven }] of commands) this.inc({ kind }, unproven)
      },
    }),
    /** Observes an engine's groups. Commands are counted in plain numbers, like in `answersOf`. */
    observerOf(kind: string): (group: ObservedGroup) => void {
      const sizes = groupSize.labels(kind)
      const durations = groupSeconds.labels(kind)
      const waits = groupWait.labels(kind)
      const counts = { memory: 0, transaction: 0, unproven: 0 }
      commands.set(kind, counts)
      return ({ size, seconds, waitSeconds, isFromMemory, unproven }) => {
        sizes.observe(size)
        durations.observe(seconds)
        waits.observe(waitSeconds)
        counts[isFromMemory ? 'memory' : 'transaction'] += size - unproven
        counts.unproven += unproven
      }
    },
  }
}

/** Who may call, how often, and what was refused. */
const metricsOfAccess = (registers: Registry[]) => ({
  logins: new Counter({
    name: 'tierway_logins_total',
    help: 'Logins and links by result: ok, or the code of the error.',
    labelNames: ['operation', 'result'],
    registers,
  }),
  denied: new Counter({
    name: 'tierway_denied_total',
    help: 'Attempts without access that the audit log has, by action.',
    labelNames: ['action'],
    registers,
  }),
  rateLimited: new Counter({
    name: 'tierway_rate_limited_total',
    help: 'Calls that were refused because of a rate limit.',
    labelNames: ['limit'],
    registers,
  }),
  connectionLimited: new Counter({
    name: 'tierway_connection_limited_total',
    help: 'Connections, sockets, streams and subscriptions that were refused because of a connection limit.',
    labelNames: ['limit'],
    registers,
  }),
  xpLimited: new Counter({
    name: 'tierway_xp_limited_total',
    help: 'Calls with more xp than the rules of a pass allow: clipped, refused, or of a source that is not_allowed.',
    labelNames: ['environment', 'origin', 'reason'],
    registers,
  }),
})

/** What the service does beside calls, and whom it calls. */
const metricsOfTasks = (registers: Registry[]) => ({
  taskFailures: new Counter({
    name: 'tierway_task_failures_total',
    help: 'Failures of background tasks, for which no call waits. Each tries again by itself.',
    // `job` is a label of Prometheus itself.
    labelNames: ['task'],
    registers,
  }),
  purgedRows: new Counter({
    name: 'tierway_purged_rows_total',
    help: 'Old rows that this instance removed.',
    labelNames: ['rows'],
    registers,
  }),
  alertMessages: new Counter({
    name: 'tierway_alert_messages_total',
    help: 'Attempts to send a message to an alert webhook, by whether it arrived.',
    labelNames: ['result'],
    registers,
  }),
  webhookAttempts: new Counter({
    name: 'tierway_webhook_attempts_total',
    help: "Calls of studios' login webhooks, by project and by class of status or of error.",
    labelNames: ['project', 'result'],
    registers,
  }),
  webhookSeconds: new Histogram({
    name: 'tierway_webhook_attempt_seconds',
    help: "Time from the start of a login webhook's call to its end.",
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3],
    registers,
  }),
  replicaReads: new Counter({
    name: 'tierway_replica_reads_total',
    help: 'Reads of lists, figures, exports and previews, by the place that served them, and why it was the primary.',
    labelNames: ['place', 'reason'],
    registers,
  }),
})

const metricsOfStream = (registers: Registry[]) => ({
  subscriptions: new Gauge({
    name: 'tierway_subscriptions',
    help: 'Subscriptions that are open.',
    registers,
  }),
  eventsResolved: new Counter({
    name: 'tierway_events_resolved_total',
    help: 'Events resolved for subscribers, once for all with the same operation.',
    registers,
  }),
  eventsSent: new Counter({ name: 'tierway_events_sent_total', help: 'Events sent to subscribers.', registers }),
  sockets: new Gauge({ name: 'tierway_sockets', help: 'WebSockets that are open.', registers }),
  socketsClosed: new Counter({
    name: 'tierway_sockets_closed_total',
    help: 'WebSockets that were closed, by close code. 1006 is a connection that broke.',
    labelNames: ['code'],
    registers,
  }),
  eventDelay: new Histogram({
    name: 'tierway_event_delay_seconds',
    help: 'Time from the commit of an event to its delivery by this instance, for the oldest event of each batch.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  }),
})

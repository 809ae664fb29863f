import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** The metrics for the person on call. Labels come from our own tables, never from a request. */
export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const answers = new Map<string, Map<number, number>>()
  const requestSeconds = new Histogram({
    name: 'tierway_http_request_seconds',
    help: 'Time from a request to its answer.',
    labelNames: ['route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })
  return {
    registry,
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
    /** Counts a route's answers in plain numbers, as prom-client would look up its labels for each. */
    answersOf(route: string): (status: number, milliseconds: number) => void {
      const counts = answers.get(route) ?? new Map<number, number>()
      answers.set(route, counts)
      const seconds = requestSeconds.labels(route)
      return (status, milliseconds) => {
        counts.set(status, (counts.get(status) ?? 0) + 1)
        seconds.observe(milliseconds / 1000)
      }
    },
    groupSize: new Histogram({
      name: 'tierway_group_commands',
      help: 'Commands per group commit.',
      labelNames: ['kind'],
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
      registers,
    }),
    groupSeconds: new Histogram({
      name: 'tierway_group_seconds',
      help: 'Duration of a group commit.',
      labelNames: ['kind'],
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5],
      registers,
    }),
    webhookAttempts: new Counter({
      name: 'tierway_webhook_attempts_total',
      help: "Calls of studios' login webhooks, by class of status or of error.",
      labelNames: ['result'],
      registers,
    }),
    webhookSeconds: new Histogram({
      name: 'tierway_webhook_attempt_seconds',
      help: 'Time from the start of such a call to its end.',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3],
      registers,
    }),
    documents: new Counter({
      name: 'tierway_graphql_documents_total',
      help: 'GraphQL documents that were run: persisted ones, and others.',
      labelNames: ['kind'],
      registers,
    }),
    subscriptions: new Gauge({
      name: 'tierway_subscriptions',
      help: 'Subscriptions that are open.',
      registers,
    }),
    eventsResolved: new Counter({
      name: 'tierway_events_resolved_total',
      help: 'Events resolved for subscribers, once for all who follow in the same words.',
      registers,
    }),
    eventsSent: new Counter({ name: 'tierway_events_sent_total', help: 'Events sent to subscribers.', registers }),
    rateLimited: new Counter({
      name: 'tierway_rate_limited_total',
      help: 'Calls that were refused because of a rate limit.',
      labelNames: ['limit'],
      registers,
    }),
    sockets: new Gauge({ name: 'tierway_sockets', help: 'WebSockets that are open.', registers }),
  }
}

export type Metrics = ReturnType<typeof createMetrics>

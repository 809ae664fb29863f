import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { endWithTests } from './harness/children.ts'
import { passNode, scenario, season } from './harness/definitions.ts'
import { freePort } from './harness/free-port.ts'
import { type Game, generateKeys, type Instance, startGame, startInstance, times } from './harness/game.ts'
import { without } from './harness/needs.ts'
import { approve, type Operator, startOperator, status } from './harness/operator.ts'
import { startTcpProxy, type TcpProxy } from './harness/tcp-proxy.ts'
import { until } from './harness/until.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const withoutPrometheus = without('prometheus', 'promtool')
const TOKEN = 'the-metrics-of-tests'
/** Nothing listens there. */
const NO_REPLICA = 'postgres://127.0.0.1:1/none'
/** While Postgres is away, a call can wait for five seconds. */
const FIRING_DEADLINE_MS = 80_000

interface Panel {
  readonly id: number
  readonly title: string
  readonly targets: readonly { readonly expr: string }[]
}
interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly runbook: string; readonly summary: string }
}

const { panels } = JSON.parse(read('ops/grafana/tierway.json')) as { panels: readonly Panel[] }
const rules = (parse(read('ops/prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
)
const expressions = [
  ...rules.map(({ expr }) => expr),
  ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
]
const namesIn = (text: string) => [...text.matchAll(/\b(?:tierway|nodejs|process)_\w+/g)].map(([name]) => name)

describe('docs/operations.md', () => {
  it('lists every metric of the service with its labels, and no other', async () => {
    const game = await startGame({ REDIS_URL: 'redis://127.0.0.1:1', DATABASE_REPLICA_URL: NO_REPLICA })
    try {
      const metrics = await game.app.metrics.registry.getMetricsAsJSON()
      const own = metrics.filter(({ name }) => name.startsWith('tierway_'))
      const table = [...read('docs/operations.md').matchAll(/^\| `(tierway_\w+)` \| (.*?) \|/gm)]
      expect(table.map(([, name]) => name).sort()).toEqual(own.map(({ name }) => name).sort())
      for (const [, name = '', labels = ''] of table) {
        const { labelNames } = game.app.metrics.registry.getSingleMetric(name) as unknown as { labelNames: string[] }
        expect([name, [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label)]).toEqual([name, labelNames])
      }
    } finally {
      await game.stop()
    }
  })
})

describe('alerts and dashboard', () => {
  it('have one heading of the runbook for each alert, and the runbook has no other', () => {
    const headings = [...read('docs/runbook.md').matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(rules.map(({ alert }) => alert))
    for (const { alert, annotations } of rules) {
      expect([alert, annotations.runbook]).toEqual([alert, `docs/runbook.md#${alert.toLowerCase()}`])
    }
  })

  it('have a panel for each alert, with a metric of its rule', () => {
    const metricsIn = (text: string) =>
      [...namesIn(text), ...(text.match(/\bup\b/g) ?? [])].map((name) => name.replace(/_(bucket|count|sum)$/, ''))
    const shown = new Set(panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr))))
    for (const { alert, expr } of rules)
      expect([alert, metricsIn(expr).some((name) => shown.has(name))]).toEqual([alert, true])
  })

  it('have panels with unique ids and one query each', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    for (const { title, targets } of panels) expect([title, targets.length]).toEqual([title, 1])
  })
})

describe.skipIf(withoutPrometheus !== '')(`${withoutPrometheus}Prometheus`, () => {
  it('accepts the rules, and fires each as alerts.test.yml expects', () => {
    for (const [command, file] of [
      ['check', 'alerts.yml'],
      ['test', 'alerts.test.yml'],
    ] as const) {
      const { status, stdout, stderr } = spawnSync('promtool', [command, 'rules', file], {
        cwd: join(ROOT, 'ops/prometheus'),
        encoding: 'utf8',
      })
      expect([status, stdout.includes('SUCCESS'), stderr]).toEqual([0, true, ''])
    }
  })

  describe('that scrapes the service', () => {
    let game: Game
    let webhook: Operator
    let prometheus: Awaited<ReturnType<typeof startPrometheus>>
    beforeAll(async () => {
      webhook = await startOperator(approve({ subject: 'acct_1' }))
      game = await startGame({
        METRICS_TOKEN: TOKEN,
        REDIS_URL: 'redis://127.0.0.1:1',
        DATABASE_REPLICA_URL: NO_REPLICA,
      })
      await game.setProviders({ default: { enabled: true, url: webhook.url, secret: webhook.secret } })
      prometheus = await startPrometheus(game.baseUrl)
    })
    afterAll(async () => {
      await prometheus?.stop()
      await game?.stop()
      await webhook?.close()
    })

    it('has data for every panel except those that count faults, and evaluates every rule', async () => {
      await game.publish('climb', scenario([passNode('pass', { levels: times(50, (xp) => xp), tiers: [] })], []))
      const player = await game.player()
      const runId = await player.start('climb')
      const live = game.subscribe(player.token, 'subscription Feed { events { cursor } }', {})
      const play = async () => {
        await player.post('/sdk/v1/battlepass/xp', {
          scenarioId: 'climb',
          nodeId: 'pass',
          runId,
          amount: 1,
          source: '',
        })
        await game.graphql(player.token, 'query Me { myProfile: __typename }')
        await game.graphql(player.token, 'query Denied { environments { name } }')
        await game.login({ customData: {} })
      }
      let isHeard = false
      const hearing = live.next().then(() => {
        isHeard = true
      })
      await until('an event is heard', async () => {
        await play()
        return isHeard
      })
      await hearing
      await live.close()
      const known = new Set((await game.app.metrics.registry.getMetricsAsJSON()).map(({ name }) => name as string))
      for (const name of expressions.flatMap(namesIn)) {
        expect([name, known.has(name) || known.has(name.replace(/_(bucket|sum|count)$/, ''))]).toEqual([name, true])
      }
      // Counters of faults exist only after a fault.
      const quiet = [
        'Refused by rate limits',
        'Event delay, p99',
        'Closed sockets by code',
        'Denied attempts by action',
        'Xp over the rules of passes',
        'Commands that ran again',
        'Messages to alert webhooks',
      ]
      for (const { title, targets } of panels) {
        await until(`the panel "${title}" has data`, async () => {
          await play()
          const results = await prometheus.query(targets[0]?.expr ?? '')
          return results.length > 0 || quiet.includes(title)
        })
      }
      for (const { expr } of rules) expect(Array.isArray(await prometheus.query(expr))).toBe(true)
      const loaded = await prometheus.rules()
      expect(loaded.map(({ name, health }) => [name, health])).toEqual(rules.map(({ alert }) => [alert, 'ok']))
    })
  })
})

describe.skipIf(withoutPrometheus !== '')(`${withoutPrometheus}the alerts of a real Prometheus`, () => {
  let game: Game
  let instance: Instance
  let isGone = false
  let postgres: TcpProxy
  let webhook: Operator
  let prometheus: Awaited<ReturnType<typeof startPrometheus>>
  const keys = generateKeys()
  beforeAll(async () => {
    webhook = await startOperator(status(500))
    game = await startGame(await keys)
    const database = new URL(game.databaseUrl)
    const target = `tcp://${database.host}`
    postgres = await startTcpProxy(() => target)
    database.host = `127.0.0.1:${postgres.port}`
    // Calls wait as long as in production, so that their failures come soon.
    const env = { ...(await keys), METRICS_TOKEN: TOKEN, REDIS_URL: 'redis://127.0.0.1:1', CALL_DEADLINE_MS: '5000' }
    instance = await startInstance(database.href, env)
    prometheus = await startPrometheus(instance.baseUrl, hurried)
  })
  afterAll(async () => {
    await prometheus?.stop()
    if (!isGone) await instance?.stop()
    await postgres?.close()
    await game?.stop()
    await webhook?.close()
  })

  /** Repeats the calls until these alerts fire, and gives their labels. */
  async function untilFiring(names: readonly string[], calls: () => Promise<unknown>) {
    const firing = new Map<string, Readonly<Record<string, string>>>()
    await until(
      `${names} fire`,
      async () => {
        await Promise.all(Array.from({ length: 24 }, calls))
        for (const { labels } of await prometheus.alerts()) firing.set(labels.alertname ?? '', labels)
        return names.every((name) => firing.has(name))
      },
      { deadlineMs: FIRING_DEADLINE_MS },
    )
    return firing
  }

  const at = (path: string, init: RequestInit = {}) => fetch(`${instance.baseUrl}${path}`, init)
  const json = (headers: Record<string, string>, body: unknown) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

  it('fire for a broken webhook with its project, and for Redis', async () => {
    await game.setProviders({ default: { enabled: true, url: webhook.url, secret: webhook.secret } })
    const login = () => at('/sdk/v1/authorization/custom', json({ 'x-sdk-key': game.sdkKey }, { customData: {} }))
    const firing = await untilFiring(['TierwayWebhookFails', 'TierwayRedisAway'], login)
    expect(firing.get('TierwayWebhookFails')?.project).toBe(game.projectId)
  })

  it('fire for clients that send xp of servers, with the environment', async () => {
    await game.publish('ruled', season({ more: { xp: { sources: { match: { from: 'server' } } } } }))
    const { token, start } = await game.player()
    const call = { scenarioId: 'ruled', nodeId: 'pass', runId: await start('ruled'), source: 'match', amount: 10 }
    const send = () => at('/sdk/v1/battlepass/xp', json({ authorization: `Bearer ${token}` }, call))
    const { environment, reason } = (await untilFiring(['TierwayXpLimits'], send)).get('TierwayXpLimits') ?? {}
    expect([environment, reason]).toEqual([game.environmentId, 'not_allowed'])
  })

  it('fire while Postgres is away, for calls over REST and GraphQL, and not for the probes', async () => {
    const { token } = await game.player()
    postgres.cut({ refuse: true })
    const firing = await untilFiring(['TierwayNotReady', 'TierwayServerErrors', 'TierwayGraphqlErrors'], async () => {
      await at('/readyz')
      await at('/sdk/v1/scenarios/start', json({ authorization: `Bearer ${token}` }, { scenarioId: 'x' }))
      await at(
        '/graphql',
        json(
          { authorization: `Bearer ${game.platformKey}` },
          { query: 'query Log { auditLog(first: 1) { nodes { id } } }' },
        ),
      )
    })
    expect(firing.get('TierwayServerErrors')?.route).not.toBe('/readyz')
    postgres.restore()
    await until('the instance is ready again', async () => (await at('/readyz')).ok)
  })

  it('fire when the last instance is gone', async () => {
    await instance.stop()
    isGone = true
    await untilFiring(['TierwayDown', 'TierwayAllDown'], async () => undefined)
  })
})

/** The rules with times that a test can wait for. */
const hurried = (text: string): string =>
  text.replaceAll(/^( +for:) .*$/gm, '$1 0s').replaceAll(/\[(5m|1h)\]/g, '[10s]')

/** A Prometheus that scrapes the service twice a second. */
async function startPrometheus(baseUrl: string, change: (rules: string) => string = (rules) => rules) {
  const directory = await mkdtemp(join(tmpdir(), 'tierway-prometheus-'))
  const port = await freePort()
  await writeFile(join(directory, 'alerts.yml'), change(read('ops/prometheus/alerts.yml')))
  await writeFile(
    join(directory, 'prometheus.yml'),
    JSON.stringify({
      global: { scrape_interval: '400ms', scrape_timeout: '400ms', evaluation_interval: '400ms' },
      rule_files: ['alerts.yml'],
      scrape_configs: [
        {
          job_name: 'tierway',
          authorization: { credentials: TOKEN },
          static_configs: [{ targets: [new URL(baseUrl).host] }],
        },
      ],
    }),
  )
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  endWithTests(child)
  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)
    const body = (await response.json()) as { status: string; error?: string; data: never }
    expect([path, body.status, body.error]).toEqual([path, 'success', undefined])
    return body.data as unknown
  }
  await until('Prometheus is ready', () =>
    fetch(`http://127.0.0.1:${port}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return {
    async query(expression: string) {
      const { result } = (await ask(`query?query=${encodeURIComponent(expression)}`)) as { result: unknown[] }
      return result
    },
    async rules() {
      const { groups } = (await ask('rules')) as { groups: { rules: { name: string; health: string }[] }[] }
      return groups.flatMap((group) => group.rules)
    },
    async alerts() {
      const { alerts } = (await ask('alerts')) as { alerts: { state: string; labels: Record<string, string> }[] }
      return alerts.filter(({ state }) => state === 'firing')
    },
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await ended
      await rm(directory, { recursive: true, force: true })
    },
  }
}

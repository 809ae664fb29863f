import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, test } from 'vitest'
import { parse } from 'yaml'
import { createDatabase } from '../harness/database.ts'
import { without } from '../harness/needs.ts'
import { COMMAND_LINE, startPageShell } from '../harness/page-shell.ts'
import { type Service, startService, stopService } from '../harness/service.ts'

const CHART = fileURLToPath(new URL('../../ops/helm/tierway/', import.meta.url))
const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const withoutGo = without('go')
const withoutKubectl = without('kubectl', 'go')
const withoutHelm = without('helm')

// biome-ignore lint/suspicious/noExplicitAny: Kubernetes objects of every kind.
type Manifest = any

const defaults = parse(read('ops/helm/tierway/values.yaml'))
const chart = parse(read('ops/helm/tierway/Chart.yaml'))
const SECRET = { existingSecret: 'game-secrets' }
const EVERYTHING = {
  ...SECRET,
  autoscaling: { ...defaults.autoscaling, enabled: true },
  ingress: { ...defaults.ingress, enabled: true, className: 'nginx', tlsSecret: 'tls' },
  serviceMonitor: { ...defaults.serviceMonitor, enabled: true, labels: { release: 'prometheus' } },
  networkPolicy: {
    ...defaults.networkPolicy,
    enabled: true,
    from: [{ namespaceSelector: { matchLabels: { a: 'b' } } }],
  },
  imagePullSecrets: [{ name: 'registry' }],
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'game', operator: 'Exists' }],
  env: { ALLOWED_ORIGINS: 'https://a.example,https://b.example', TRUSTED_PROXIES: '2' },
}

/** Renders the chart without Helm, which is not installed everywhere. */
function render(values: object): { manifests: Map<string, Manifest>; notes: string; fault: string } {
  const names = readdirSync(`${CHART}templates`)
  const { stdout, stderr } = spawnSync('go', ['run', fileURLToPath(new URL('render-chart.go', import.meta.url))], {
    input: JSON.stringify({
      values: { ...defaults, ...values },
      release: { Name: 'game', Service: 'Helm' },
      chart: { Name: chart.name, Version: chart.version, AppVersion: chart.appVersion },
      templates: Object.fromEntries(names.map((name) => [name, readFileSync(`${CHART}templates/${name}`, 'utf8')])),
    }),
    encoding: 'utf8',
  })
  if (stdout === '') return { manifests: new Map(), notes: '', fault: stderr }
  const { 'NOTES.txt': notes = '', ...texts } = JSON.parse(stdout) as Record<string, string>
  const manifests = new Map<string, Manifest>()
  for (const text of Object.values(texts)) {
    const manifest = parse(text)
    // A chart may have two services, of which one is known by its name.
    const isSecond = manifest?.metadata.name === 'game-instances'
    if (manifest) manifests.set(isSecond ? manifest.metadata.name : manifest.kind, manifest)
  }
  return { manifests, notes, fault: stderr }
}

describe.skipIf(withoutGo !== '')(`${withoutGo}the Helm chart`, () => {
  it('names the Secret that it needs when none is given', () => {
    expect(render({}).fault).toContain(
      'existingSecret must name a Secret with DATABASE_URL, TOKEN_KEYS and SECRETS_KEYS',
    )
  })

  it('creates a deployment, its service, a disruption budget and a migration', () => {
    const { manifests, fault } = render(SECRET)
    expect([fault, [...manifests.keys()].sort()]).toEqual(['', ['Deployment', 'Job', 'PodDisruptionBudget', 'Service']])
    const deployment = manifests.get('Deployment')
    const pod = deployment.spec.template
    expect(deployment.spec.replicas).toBe(2)
    expect(deployment.spec.strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 })
    for (const selector of [
      deployment.spec.selector.matchLabels,
      manifests.get('Service').spec.selector,
      manifests.get('PodDisruptionBudget').spec.selector.matchLabels,
      pod.spec.topologySpreadConstraints[0].labelSelector.matchLabels,
    ]) {
      expect(pod.metadata.labels).toMatchObject(selector)
      // Otherwise the service would send calls to the pod of the migration.
      expect(manifests.get('Job').spec.template.metadata.labels).not.toMatchObject(selector)
    }
    const [container] = pod.spec.containers
    expect(manifests.get('Service').spec.ports[0].targetPort).toBe(container.ports[0].name)
    expect(container.image).toBe(`ghcr.io/tierway/tierway:${chart.appVersion}`)
  })

  it('probes routes that exist, and gives a stop enough time', () => {
    const { manifests } = render({ ...SECRET, shutdownGraceMs: 7_000 })
    const { spec } = manifests.get('Deployment').spec.template
    const [container] = spec.containers
    const health = read('src/serve/http/health.ts')
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      const { path, port } = container[probe].httpGet
      expect([probe, health.includes(`get('${path}'`), port]).toEqual([probe, true, 'http'])
    }
    // An unreachable Postgres must not restart the instances.
    expect([container.livenessProbe.httpGet.path, container.readinessProbe.httpGet.path]).toEqual(['/livez', '/readyz'])
    const grace = Number(container.env.find(({ name }: Manifest) => name === 'SHUTDOWN_GRACE_MS').value)
    expect([grace, spec.terminationGracePeriodSeconds]).toEqual([7_000, 27])
  })

  it('sets variables that exist, and takes secrets from the Secret', () => {
    const { manifests } = render(EVERYTHING)
    const config = read('src/base/config.ts')
    const containers = [manifests.get('Deployment'), manifests.get('Job')].map(
      ({ spec }) => spec.template.spec.containers[0],
    )
    for (const { env = [], envFrom } of containers) {
      expect(envFrom).toEqual([{ secretRef: { name: 'game-secrets' } }])
      for (const { name, value } of env) {
        expect([name, config.includes(`'${name}'`), typeof value]).toEqual([name, true, 'string'])
      }
    }
    for (const name of ['DATABASE_URL', 'TOKEN_KEYS', 'SECRETS_KEYS', 'REDIS_URL', 'METRICS_TOKEN', 'DATABASE_CA'])
      expect([name, config.includes(`'${name}'`)]).toEqual([name, true])
    const own = Object.fromEntries(containers[0].env.map(({ name, value }: Manifest) => [name, value]))
    const set = { SHUTDOWN_GRACE_MS: '5000', MIGRATE_ON_START: 'false', ANSWER_WHILE_STARTING: 'true' }
    expect(own).toEqual({ ...EVERYTHING.env, ...set })
  })

  it('writes numbers of `env` as they are, and trusts a proxy only with an ingress', () => {
    const env = (values: object) => {
      const { manifests, fault } = render({ ...SECRET, ...values })
      expect(fault).toBe('')
      const [own, job] = ['Deployment', 'Job'].map((kind) =>
        Object.fromEntries(
          manifests.get(kind).spec.template.spec.containers[0].env.map(({ name, value }: Manifest) => [name, value]),
        ),
      )
      expect(own).toMatchObject(job ?? {})
      return job
    }
    const numbers = { MAX_BODY_BYTES: 1_048_576, METRICS_PORT: 9_100, INTROSPECTION: true }
    const trusted = { TRUSTED_PROXIES: '0' }
    expect(env({ env: numbers })).toEqual({
      ...{ MAX_BODY_BYTES: '1048576', METRICS_PORT: '9100', INTROSPECTION: 'true' },
      ...trusted,
    })
    expect(env({})).toEqual(trusted)
    expect(env({ ingress: EVERYTHING.ingress })).toEqual({ TRUSTED_PROXIES: '1' })
    expect(env({ ingress: EVERYTHING.ingress, env: { TRUSTED_PROXIES: 2 } })).toEqual({ TRUSTED_PROXIES: '2' })
  })

  it('places the migration as the instances, with the same volumes and resources of its own', () => {
    const ca = { name: 'ca', configMap: { name: 'database-ca' } }
    const mount = { name: 'ca', mountPath: '/etc/ca', readOnly: true }
    const { manifests } = render({ ...EVERYTHING, extraVolumes: [ca], extraVolumeMounts: [mount] })
    for (const kind of ['Deployment', 'Job']) {
      const { spec } = manifests.get(kind).spec.template
      expect([kind, spec.volumes, spec.containers[0].volumeMounts]).toEqual([kind, [ca], [mount]])
      expect([spec.nodeSelector, spec.tolerations]).toEqual([EVERYTHING.nodeSelector, EVERYTHING.tolerations])
    }
    const [migrate] = manifests.get('Job').spec.template.spec.containers
    expect(migrate.resources).toEqual(defaults.migrationJob.resources)
  })

  it('lets nodes drain one instance at a time, and scales by a share of the one CPU that an instance uses', () => {
    const { manifests } = render(EVERYTHING)
    expect(manifests.get('PodDisruptionBudget').spec).toMatchObject({ maxUnavailable: 1 })
    expect(manifests.get('PodDisruptionBudget').spec.minAvailable).toBeUndefined()
    const [container] = manifests.get('Deployment').spec.template.spec.containers
    const [{ resource }] = manifests.get('HorizontalPodAutoscaler').spec.metrics
    expect([container.resources.requests.cpu, resource.target.averageUtilization]).toEqual(['1', 70])
  })

  it('scrapes the port of the metrics when they have one', () => {
    const { manifests } = render({ ...EVERYTHING, env: { METRICS_PORT: 9_100 } })
    const [endpoint] = manifests.get('ServiceMonitor').spec.endpoints
    expect([endpoint.port, endpoint.authorization]).toEqual(['metrics', undefined])
    expect(manifests.get('Service').spec.ports[1]).toEqual({ name: 'metrics', port: 9_100, targetPort: 'metrics' })
    const [container] = manifests.get('Deployment').spec.template.spec.containers
    expect(container.ports[1]).toEqual({ name: 'metrics', containerPort: 9_100 })
  })

  it('migrates before an upgrade with the same image, or leaves that to the instances', () => {
    const { manifests } = render(EVERYTHING)
    const job = manifests.get('Job')
    expect(job.metadata.annotations['helm.sh/hook']).toBe('pre-install,pre-upgrade')
    const [migrate] = job.spec.template.spec.containers
    expect(migrate.command).toEqual(['node', 'dist/cli.js', 'migrate'])
    expect(migrate.image).toBe(manifests.get('Deployment').spec.template.spec.containers[0].image)
    const without = render({ ...SECRET, migrationJob: { enabled: false } }).manifests
    const { env } = without.get('Deployment').spec.template.spec.containers[0]
    expect([without.has('Job'), env.find(({ name }: Manifest) => name === 'MIGRATE_ON_START').value]).toEqual([
      false,
      'true',
    ])
  })

  it('runs without root and without a writable file system', () => {
    const { manifests } = render(EVERYTHING)
    for (const kind of ['Deployment', 'Job']) {
      const { spec } = manifests.get(kind).spec.template
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
      expect(spec.automountServiceAccountToken).toBe(false)
      expect(spec.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    }
  })

  it('runs as the user that the cluster chooses, with an account, annotations and variables of the cluster', () => {
    const extraEnv = [{ name: 'REDIS_URL', valueFrom: { secretKeyRef: { name: 'redis', key: 'url' } } }]
    const { manifests, fault } = render({
      ...EVERYTHING,
      podSecurityContext: { ...defaults.podSecurityContext, fsGroup: 2000 },
      ...{ extraEnv, podAnnotations: { team: 'game' }, serviceAccountName: 'cloud' },
      service: { ...defaults.service, annotations: { zone: 'a' } },
    })
    expect(fault).toBe('')
    for (const kind of ['Deployment', 'Job']) {
      const { spec } = manifests.get(kind).spec.template
      expect(spec).toMatchObject({ serviceAccountName: 'cloud', enableServiceLinks: false })
      expect(spec.securityContext).toEqual({ ...defaults.podSecurityContext, fsGroup: 2000 })
      expect(spec.securityContext.runAsUser).toBeUndefined()
      expect(spec.containers[0].env).toEqual(expect.arrayContaining(extraEnv))
    }
    expect(manifests.get('Deployment').spec.template.metadata.annotations).toEqual({ team: 'game' })
    expect(manifests.get('Service').metadata.annotations).toEqual({ zone: 'a' })
    // Kubernetes sees that the user of the image is not root by its number alone.
    expect(read('Dockerfile')).toMatch(/^USER [1-9]\d*$/m)
  })

  it('has another name than the release where one is given', () => {
    const { manifests, notes } = render({ ...EVERYTHING, fullnameOverride: 'season' })
    for (const [kind, { metadata }] of manifests)
      expect([kind, metadata.name]).toEqual([kind, kind === 'Job' ? 'season-migrate' : 'season'])
    expect(manifests.get('HorizontalPodAutoscaler').spec.scaleTargetRef.name).toBe('season')
    expect(manifests.get('Ingress').spec.rules[0].http.paths[0].backend.service.name).toBe('season')
    expect(notes).toContain('service/season')
  })

  it('gives a migration an hour, and a group of instances time before one of them leaves', () => {
    const { manifests } = render(EVERYTHING)
    expect(manifests.get('Job').spec.activeDeadlineSeconds).toBe(3600)
    const { scaleDown } = manifests.get('HorizontalPodAutoscaler').spec.behavior
    expect(scaleDown).toEqual({
      ...{ stabilizationWindowSeconds: 600, policies: [{ type: 'Pods', value: 1, periodSeconds: 120 }] },
    })
  })

  it('creates an ingress, an autoscaler and a monitor when they are enabled', () => {
    const { manifests, notes } = render(EVERYTHING)
    expect(manifests.get('Deployment').spec.replicas).toBeUndefined()
    expect(manifests.get('HorizontalPodAutoscaler').spec.scaleTargetRef.name).toBe('game')
    const { spec } = manifests.get('Ingress')
    expect(spec.ingressClassName).toBe('nginx')
    expect(spec.rules[0].http.paths[0].backend.service).toEqual({ name: 'game', port: { name: 'http' } })
    expect(spec.tls).toEqual([{ hosts: ['tierway.example.com'], secretName: 'tls' }])
    const monitor = manifests.get('ServiceMonitor')
    expect(monitor.metadata.labels.release).toBe('prometheus')
    expect(monitor.spec.endpoints[0].authorization.credentials).toEqual({ name: 'game-secrets', key: 'METRICS_TOKEN' })
    expect(notes).toContain('kubectl port-forward service/game 4000:80')
  })

  it('gives each player one instance behind ingress-nginx, and says how other calls spread', () => {
    const { manifests, notes } = render(EVERYTHING)
    const { annotations } = manifests.get('Ingress').metadata
    expect(annotations['nginx.ingress.kubernetes.io/upstream-hash-by']).toBe('$http_authorization$tierway_spread')
    const map = (text: string) => /map \$http_authorization [^}]*\}/.exec(text)?.[0].replace(/\s+/g, ' ')
    expect(map(notes)).toBe(map(read('ops/proxy/nginx.conf'))?.replace('$spread', '$tierway_spread'))
    for (const values of [SECRET, { ...SECRET, ingress: { ...EVERYTHING.ingress, annotations: {} } }])
      expect(render(values).notes).not.toContain('map ')
  })

  it('has a service that resolves to all instances, which the monitor does not scrape twice', () => {
    const { manifests, fault } = render({ ...EVERYTHING, service: { ...defaults.service, headless: true } })
    expect(fault).toBe('')
    const [service, instances] = [manifests.get('Service'), manifests.get('game-instances')]
    expect(instances.spec).toEqual({
      clusterIP: 'None',
      selector: service.spec.selector,
      ports: [{ name: 'http', port: 4_000, targetPort: 'http' }],
    })
    const { matchLabels } = manifests.get('ServiceMonitor').spec.selector
    expect(service.metadata.labels).toMatchObject(matchLabels)
    expect(instances.metadata.labels).not.toMatchObject(matchLabels)
    expect(render(SECRET).manifests.has('game-instances')).toBe(false)
  })

  it('limits calls to the service port, and private addresses to listed ports, when the network policy is enabled', () => {
    const { manifests, fault } = render(EVERYTHING)
    expect(fault).toBe('')
    const { metadata, spec } = manifests.get('Deployment').spec.template
    const policy = manifests.get('NetworkPolicy').spec
    expect(metadata.labels).toMatchObject(policy.podSelector.matchLabels)
    // A migration runs before the policy exists, which does not select its pod.
    expect(manifests.get('Job').spec.template.metadata.labels).not.toMatchObject(policy.podSelector.matchLabels)
    expect(policy.policyTypes).toEqual(['Ingress', 'Egress'])
    expect(policy.ingress).toEqual([
      { ports: [{ port: spec.containers[0].ports[0].name }], from: EVERYTHING.networkPolicy.from },
    ])
    const [dns, outside, ...more] = policy.egress
    expect(dns.ports.map(({ port }: Manifest) => port)).toEqual([53, 53])
    const allowed = new BlockList()
    const blocked = new BlockList()
    for (const { ipBlock } of outside.to) {
      const family = ipBlock.cidr.includes(':') ? 'ipv6' : 'ipv4'
      const add = (list: BlockList, cidr: string) =>
        list.addSubnet(cidr.split('/')[0] ?? '', Number(cidr.split('/')[1]), family)
      add(allowed, ipBlock.cidr)
      for (const cidr of ipBlock.except) add(blocked, cidr)
    }
    const leads = (address: string): boolean => {
      const family = address.includes(':') ? 'ipv6' : 'ipv4'
      return allowed.check(address, family) && !blocked.check(address, family)
    }
    expect(['8.8.8.8', '172.32.0.1', '2606:4700::1'].map(leads)).toEqual([true, true, true])
    for (const address of ['10.1.2.3', '172.31.0.1', '192.168.0.1', '169.254.169.254', '100.100.0.1', 'fd00::1'])
      expect([address, leads(address)]).toEqual([address, false])
    expect(more).toEqual([{ ports: [{ port: 5432 }, { port: 6379 }, { port: 4318 }] }])
    const open = render({
      ...SECRET,
      env: { METRICS_PORT: '9100' },
      networkPolicy: { ...defaults.networkPolicy, enabled: true, egress: [] },
    }).manifests.get('NetworkPolicy').spec
    expect(open.ingress).toEqual([{ ports: [{ port: 'http' }, { port: 9100 }] }])
    expect(open.egress).toHaveLength(2)
  })
})

test.skipIf(withoutKubectl !== '')(
  `${withoutKubectl}the commands of docs/operations.md make a Secret with which the chart's pods start`,
  async () => {
    const page = read('docs/operations.md')
    const section = page.slice(page.indexOf('## Kubernetes'))
    const commands = /^```sh\n([\s\S]*?)^```$/m.exec(section)?.[1] ?? ''
    const database = await createDatabase()
    // There is no cluster: kubectl prints the Secret that it would create, and Helm's arguments are printed.
    const shell = await startPageShell({
      programs: {
        docker: `shift 5; exec ${COMMAND_LINE} "$@"`,
        kubectl: `PATH=$(echo "$PATH" | cut -d: -f2-) exec kubectl "$@" --dry-run=client -o json > secret.json`,
        helm: `printf '%s\\n' "$@" > helm.txt`,
      },
    })
    const services: Service[] = []
    try {
      const keys = /^### 1\. Keys\n[\s\S]*?^```sh\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? ''
      await shell.run(keys.replace(/^docker build.*\n/m, ''))
      await shell.run(commands.replace(/^DATABASE_URL=.*$/m, `DATABASE_URL='${database.url}'`))
      const { metadata, data } = JSON.parse(readFileSync(join(shell.home, 'secret.json'), 'utf8'))
      const secret = Object.fromEntries(
        Object.entries<string>(data).map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]),
      )
      expect(Object.keys(secret).sort()).toEqual([
        'DATABASE_URL',
        'METRICS_TOKEN',
        'REDIS_URL',
        'SECRETS_KEYS',
        'TOKEN_KEYS',
      ])
      const [action, release, chartPath, ...sets] = readFileSync(join(shell.home, 'helm.txt'), 'utf8')
        .trim()
        .split('\n')
      expect([action, release, chartPath]).toEqual(['install', 'tierway', 'oci://ghcr.io/tierway/charts/tierway'])
      const given = Object.fromEntries(sets.filter((set) => set !== '--set').map((set) => set.split('=')))
      const { manifests, fault } = render({ existingSecret: given.existingSecret })
      expect([fault, given.existingSecret]).toEqual(['', metadata.name])
      // The Redis of the page does not exist.
      const { REDIS_URL, ...env } = secret
      expect(REDIS_URL).toBe('redis://redis.example.com:6379')
      const own = manifests.get('Deployment').spec.template.spec.containers[0].env
      const service = await startService({
        ...env,
        ...Object.fromEntries(own.map(({ name, value }: Manifest) => [name, value])),
      })
      services.push(service)
      expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(200)
    } finally {
      for (const service of services) await stopService(service)
      await shell.close()
      await database.drop()
    }
  },
)

it.skipIf(withoutHelm !== '')(`${withoutHelm}helm lint finds no fault in the chart`, () => {
  const { status, stdout } = spawnSync('helm', ['lint', CHART, '--set', 'existingSecret=game-secrets'], {
    encoding: 'utf8',
  })
  expect([status, status === 0 ? '' : stdout]).toEqual([0, ''])
})

import { VERSION } from '../../base/version.ts'
import type { Named } from '../../declare/answer.ts'
import { TAGS } from '../../declare/contract.ts'
import type { Schema } from '../../declare/shape.ts'
import { routes } from '../../routes.ts'
import { error, operationOf, responses } from './operation.ts'
import { service, webhook } from './service.ts'

// Tests check every answer against this document, and that it has every route.

const paths: Record<string, Record<string, Schema>> = {}
const bodies: Named[] = []

for (const { method, path, contract } of routes) {
  if (!contract) throw new Error(`${method} ${path} has no contract`)
  const place = path.replaceAll(/:(\w+)/g, '{$1}')
  paths[place] = { ...paths[place], [method.toLowerCase()]: operationOf(contract) }
  const { body = contract.request, answer } = contract
  bodies.push(...[body, answer].filter((named) => named != null))
}

function schemasOf(named: readonly Named[], schemas: Record<string, Schema> = {}): Record<string, Schema> {
  for (const { name, schema, parts = [] } of named) {
    if (name !== undefined) schemas[name] ??= schema
    schemasOf(parts, schemas)
  }
  return schemas
}

export const openapi = {
  openapi: '3.1.0',
  info: {
    title: 'Tierway',
    version: VERSION,
    description:
      'Battle passes for live games.\n\n' +
      '- Integers of 64 bits are exact JSON integers in both directions: read them with a parser that keeps them. (The page at `/docs` rounds integers beyond 2^53.)\n' +
      '- A game\'s "no" comes with status 200 in the field `error`; check `success`.\n' +
      '- A request that is refused is `{error, code, requestId}`: match on `code`. A 400 names every fault in `details`, and a 412 the current version.\n' +
      '- After a 503 the outcome is unknown, unless `details` says that nothing was done: send the same request again, with the same key.\n' +
      '- Unknown members of a request are ignored, except under `/server/v1` and in the calls of the tag Operators. Null counts as absent.\n\n' +
      'The same operations, and more for dashboards, are at `/graphql`; subscriptions, too.',
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'This service.' }],
  tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
  paths: { ...paths, ...service.paths },
  webhooks: webhook.webhooks,
  components: {
    schemas: schemasOf([...bodies, ...service.bodies, ...webhook.bodies, error]),
    responses,
    securitySchemes: {
      playerToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: "A player's access token." },
      sdkKey: { type: 'apiKey', in: 'header', name: 'X-SDK-Key', description: 'Names a project and an environment.' },
      serverKey: { type: 'http', scheme: 'bearer', description: 'A server key, `twsrv_…`, of one environment.' },
      platformKey: { type: 'http', scheme: 'bearer', description: 'A platform key, `twplat_…`, or an operator token.' },
      metricsToken: { type: 'http', scheme: 'bearer', description: "The configuration's `METRICS_TOKEN`." },
    },
  },
}

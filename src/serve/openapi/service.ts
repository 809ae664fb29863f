import { webhookAnswer } from '../../accounts/webhook/webhook-answer.ts'
import { answer, type Named, out } from '../../declare/answer.ts'
import { anyObject, requiredHeader } from '../../declare/contract.ts'
import { ANYWHERE, contentOf, error, openOperation, plainText, refusalsOf } from './operation.ts'

// What `openapi.json` says of the pages of the service itself, and of the endpoint that a studio implements.

const state = out.oneOf(['live', 'ready', 'degraded', 'unavailable'])
const status = answer('State.', { status: state })
const readiness = answer('State.', {
  status: state,
  writes: out.optional(out.oneOf(['refused'])),
  reason: out.optional(out.text('Why the instance is not ready, or why writes are refused, in words.')),
})

const jwks = answer(
  'RFC 7517.',
  {
    keys: out.list(
      answer('A public key.', {
        kty: out.text('`OKP`.'),
        crv: out.text('`Ed25519`.'),
        kid: out.text('Key id, as in the header of a token.'),
        x: out.text('The public key.'),
        alg: out.text('`EdDSA`.'),
        use: out.text('`sig`.'),
      }),
      'The keys of all tokens that are still valid.',
    ),
  },
  { name: 'JsonWebKeySet' },
)

const unauthorized = answer('The refusal.', {
  error: out.text('The error, for people.'),
  code: out.text('The error in snake_case, for programs.'),
})

const page = (id: string, summary: string, answer: Named = { schema: anyObject }) => ({
  get: openOperation({ id, tag: 'Service', summary, answer }),
})

export const service = {
  bodies: [jwks],
  paths: {
    '/.well-known/jwks.json': page('readJwks', 'The public keys of player tokens.', jwks),
    '/openapi.json': page('readOpenapi', 'This document.'),
    '/schemas/scenario.json': page(
      'readScenarioSchema',
      'The JSON Schema (2020-12) of scenario definitions, for editors and build pipelines.',
    ),
    '/schema.graphql': {
      get: {
        operationId: 'readSchema',
        tags: ['Service'],
        summary:
          'The GraphQL schema. Where introspection is off, as in production, it requires a platform key of any role.',
        security: [{}, { platformKey: [] }],
        responses: {
          ...plainText('The schema, in the schema definition language.', true),
          ...refusalsOf(['invalidToken']),
          ...ANYWHERE,
        },
      },
    },
    '/livez': page('readLiveness', 'Liveness: 200 while the process runs.', status),
    '/readyz': {
      get: {
        ...openOperation({
          id: 'readReadiness',
          tag: 'Service',
          summary:
            'Readiness: 200 while the database answers and is migrated. The status is `degraded` while Redis is unreachable. `writes` is `refused` while Postgres refuses writes. `reason` says why it is not ready, such as a migration that the start waits for, or why writes are refused.',
          answer: null,
        }),
        responses: {
          200: { description: 'Ready.', content: contentOf(readiness) },
          503: { description: 'Not ready.', content: contentOf(readiness) },
          ...ANYWHERE,
        },
      },
    },
    '/metrics': {
      get: {
        operationId: 'readMetrics',
        tags: ['Service'],
        summary:
          'Prometheus metrics, with `METRICS_TOKEN` where it is set. 404 when metrics are off or on a port of their own.',
        security: [{}, { metricsToken: [] }],
        responses: {
          ...plainText('Metrics.', false),
          401: { description: '`invalid token`', content: contentOf(unauthorized) },
          404: {
            description: '`not found`: metrics are off, or on a port of their own.',
            content: contentOf(error),
          },
          ...ANYWHERE,
        },
      },
    },
  },
}

const webhookRequest = answer(
  'The body is exactly this object.',
  {
    customData: out.object('The `customData` of the game client, byte for byte. Do not trust it: verify it.'),
  },
  { name: 'WebhookRequest', example: { customData: { ticket: 'ticket-of-ada' } } },
)
const identity: Named = {
  name: 'WebhookAnswer',
  schema: { ...webhookAnswer.schema, description: 'The identity of the player. Other members are ignored.' },
  example: { subject: 'player-1', nickname: 'Ada', data: { vip: true }, claims: { rank: 'gold' } },
}

export const webhook = {
  bodies: [webhookRequest, identity],
  webhooks: {
    customLogin: {
      post: {
        operationId: 'answerCustomLogin',
        tags: ['Webhook'],
        summary:
          'Identify a player. Tierway calls it for every login and link, up to three times, with a timeout of three seconds each.',
        description:
          'Answer 200 with the player, or any 4xx to refuse. Tierway tries again after a 5xx, a timeout or a failed connection. Verify `X-Signature` over the bytes of the body as received.',
        security: [],
        parameters: [
          requiredHeader(
            'X-Signature',
            "HMAC-SHA256 of the body's bytes with the provider's secret, in lower-case hex.",
          ),
          requiredHeader('webhook-id', 'Standard Webhooks: names the call; the same with every attempt.'),
          requiredHeader('webhook-timestamp', 'Standard Webhooks: seconds since 1970.'),
          requiredHeader('webhook-signature', 'Standard Webhooks: a signature that covers id and time, too.'),
        ],
        requestBody: { required: true, content: contentOf(webhookRequest) },
        responses: {
          200: { description: 'The identity of the player.', content: contentOf(identity) },
          '4XX': { description: 'The player is refused. The client receives 401 `custom auth rejected`.' },
          '5XX': {
            description:
              'A temporary failure. After the third attempt, the client receives 503 `custom auth unavailable`.',
          },
        },
      },
    },
  },
}

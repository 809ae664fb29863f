import { ATTEMPT_ERRORS } from '../../../base/outgoing/attempt-fault.ts'
import { requirePlatform } from '../../../callers/access.ts'
import { answer, out } from '../../../declare/answer.ts'
import { globalId } from '../../../declare/global-id.ts'
import { builder } from '../../../declare/graphql/builder.ts'
import { connectionOf } from '../../../declare/graphql/connections.ts'
import { needs } from '../../../declare/graphql/field-marks.ts'
import { NodeType, nodesOf } from '../../../declare/graphql/node.ts'
import { pageOf } from '../../../declare/graphql/page.ts'
import { enumType, fieldsOf, interfacesOf } from '../../../declare/graphql/shapes.ts'
import { EXCERPT_CHARACTERS } from '../../webhook/excerpt.ts'
import { MAX_ANSWER_BYTES } from '../../webhook/read-answer.ts'
import type { WebhookAttempt } from '../../webhook/webhook.ts'
import { LOGIN_NOTES, type LoginNote } from '../../webhook/webhook-answer.ts'
import { isListed, LOGIN_OPERATIONS, LOGIN_OUTCOMES, type LoginAttempt, type LoginOutcome } from './login-log.ts'

enumType('WebhookError', ATTEMPT_ERRORS, {
  description: 'The class of a failure between the service and a webhook.',
  values: {
    timeout: 'No whole answer came within 3 seconds, from looking up the name to the last byte.',
    dns: 'The name has no address, or its name servers do not answer.',
    private_address: 'The address is not a public one, and `WEBHOOK_PRIVATE_ADDRESSES` is not `allow`.',
    refused: 'Nothing listens at the port.',
    reset: 'The connection was closed before the answer was whole.',
    tls: 'The certificate is expired, unknown or of another name, the endpoint refuses the client certificate, or the port speaks no TLS.',
    protocol: 'The answer is not HTTP/1.1, or its headers are over 16 KiB.',
    bad_status: 'The status is outside of 200 to 599.',
    too_large: `The answer is over ${MAX_ANSWER_BYTES / 2 ** 20} MiB.`,
    encoding: 'The answer is not UTF-8, or is compressed in another way than its headers say.',
    breaker_open: 'The calls before had failed, so this one was not made.',
    overloaded: 'Too many calls of the provider were under way, or their answers were too long together.',
    network: 'Any other failure of the network.',
  },
})

export const LoginOutcomeType = enumType('LoginOutcome', LOGIN_OUTCOMES, {
  description: 'The result of a login or link: `OK`, or the code that the client received.',
  values: {
    ok: 'The player was logged in, or the identity linked.',
    custom_auth_disabled: 'The provider is disabled or not configured.',
    custom_auth_rejected: 'The webhook refused.',
    custom_auth_invalid_response: "The webhook's answer is invalid.",
    custom_auth_unavailable: 'The webhook could not be reached, or failed, at every attempt.',
    custom_auth_invalid_data: "The webhook's `data` is over the limits of storage.",
    sign_in_disabled: 'The provider is disabled, not configured, or lacks what logins need.',
    id_token_rejected: 'The ID token is not accepted. The attempt has the reason.',
    ticket_rejected: 'The ticket of a conflict had expired, was used before, or its identity was removed.',
    sign_in_unavailable: 'The keys of the issuer could not be had, so the token could not be verified.',
    player_banned: 'The player is banned.',
    player_deleted: 'The player is deleted.',
    identity_already_linked: 'Another player has the identity.',
    too_many_sessions: 'The player has as many sessions as its environment allows.',
    invalid_sdk_key: 'The SDK key was revoked before the webhook answered.',
    invalid_token: "The player's login ended before the webhook answered.",
  },
})

const LoginOperationType = enumType('LoginOperation', LOGIN_OPERATIONS, {
  description: 'The purpose of a webhook call.',
  values: { login: 'A custom login.', link: 'The linking of an identity to a player.' },
})

const webhookAttempt = answer("One call of the studio's webhook.", {
  status: out.orNull(out.int32('Null when no answer came.')),
  milliseconds: out.int32('The duration, in milliseconds.'),
  error: out.orNull(out.oneOf(ATTEMPT_ERRORS), 'The class of the failure. Null when an answer was read.'),
  cause: out.orNull(
    out.text(),
    'Why the answer let no player in, with the place: `subject: must be a string, was a number`; or what was wrong with a certificate. Null for an answer that let one in, and for other failures.',
  ),
  excerpt: out.orNull(
    out.text(),
    `The first ${EXCERPT_CHARACTERS} characters of an answer with text that let no player in. Repeated secrets and parts of \`customData\` are replaced by \`…\`, and control characters by spaces.`,
  ),
})

export const WebhookAttemptType = builder.objectRef<WebhookAttempt>('WebhookAttempt').implement({
  description: webhookAttempt.description,
  interfaces: interfacesOf(webhookAttempt.members),
  fields: (t) => ({
    ...fieldsOf(t, webhookAttempt.members),
    hint: t.string({
      nullable: true,
      description:
        'A hint for 401 and 403: the receiver may refuse the signature. While a rotation overlaps, it names the secrets that signed. Null for any other status.',
      resolve: ({ status, replacedSecrets }) => (status === 401 || status === 403 ? hintOf(replacedSecrets) : null),
    }),
  }),
})

function hintOf(replacedSecrets: number): string {
  const hint = 'signature refused by the receiver?'
  if (replacedSecrets === 0) return hint
  const others =
    replacedSecrets === 1 ? 'the secret that it replaced' : `the ${replacedSecrets} secrets that it replaced`
  return `${hint} Tried were the current secret, in X-Signature and webhook-signature, and ${others}, in webhook-signature alone.`
}

export const LoginNoteType = enumType('LoginNote', LOGIN_NOTES, {
  description: "A part of the webhook's answer that was left out. A player keeps its earlier nickname and avatar.",
  values: {
    'nickname ignored': 'The nickname is too long or cannot be stored.',
    'avatar ignored': 'The address of the avatar is too long or cannot be stored.',
    'claims ignored': 'The claims have a fault: the access tokens of the login carry none.',
  },
})
export const LOGIN_NOTES_DESCRIPTION = "The parts of the webhook's answer that were left out."

builder.prismaObject('LoginLogEntry', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ environmentId, id }) => globalId('LoginLogEntry', environmentId, id) }),
    occurredAt: t.expose('createdAt', { description: 'The time of the answer.', type: 'DateTime' }),
    operation: t.field({
      type: LoginOperationType,
      description: 'A login, or the linking of an identity.',
      select: { operation: true },
      resolve: ({ operation }) => operation as LoginAttempt['operation'],
    }),
    provider: t.exposeString('provider', { description: "The provider's name, such as `default`." }),
    subject: t.exposeString('subject', { nullable: true, description: 'Null when the webhook gave none.' }),
    playerId: t.exposeID('playerId', {
      nullable: true,
      description: 'The player that was found or created; null without one.',
    }),
    outcome: t.field({
      type: LoginOutcomeType,
      select: { outcome: true },
      resolve: ({ outcome }) => outcome as LoginOutcome,
    }),
    milliseconds: t.exposeInt('milliseconds', { description: 'The time of all attempts together, in milliseconds.' }),
    attempts: t.field({
      description: 'Each call of the webhook, in order.',
      type: [WebhookAttemptType],
      resolve: ({ attempts }) => JSON.parse(attempts) as WebhookAttempt[],
    }),
    notes: t.field({
      type: [LoginNoteType],
      description: LOGIN_NOTES_DESCRIPTION,
      resolve: ({ notes }) => JSON.parse(notes) as LoginNote[],
    }),
  }),
})

builder.prismaObjectField('Player', 'loginLog', (t) =>
  t.prismaConnection(
    {
      nullable: true,
      extensions: needs('players'),
      type: 'LoginLogEntry',
      cursor: 'environmentId_id',
      description: "The player's logins and links of the last 30 days, the latest first. For platform keys.",
      resolve: async (query, { environmentId, id: playerId }, _args, context) => {
        await requirePlatform(context, 'players')
        const { page, beyond } = pageOf(query, { scope: { environmentId }, order: 'desc' })
        return context.prisma.loginLogEntry.findMany({
          ...page,
          where: { environmentId, playerId, ...beyond, AND: isListed() },
        })
      },
    },
    connectionOf('LoginLogEntry'),
  ),
)

nodesOf('LoginLogEntry', ['uuid', 'uuid'], async (context, [environmentId = '', id = '']) => {
  const { projectId } = await requirePlatform(context, 'players')
  const isOwn = await context.prisma.environment.findFirst({ where: { id: environmentId, projectId } })
  return isOwn && context.prisma.loginLogEntry.findUnique({ where: { environmentId_id: { environmentId, id } } })
})

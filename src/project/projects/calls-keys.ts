import { ACTIONS } from '../../audit/actions.ts'
import { Refusal } from '../../base/errors.ts'
import { MAX_OPERATOR_TOKEN_SECONDS } from '../../base/limits.ts'
import { ROLES, roleIncludes } from '../../callers/roles.ts'
import { out } from '../../declare/answer.ts'
import { allowLast, environment, keyLabel, operatorName, reason } from '../../declare/common.ts'
import { operatorAct, operatorChange, payload } from '../../declare/operator-call.ts'
import { int32, oneOf, optional, shape, uuid } from '../../declare/shape.ts'
import { issueEnvironmentKey, issueOperatorToken, issuePlatformKey, type KeyKind, revokeKey } from './manage-keys.ts'

const createKeyRequest = shape({ environment, label: keyLabel, reason })
const createPlatformKeyRequest = shape({ role: oneOf('The role of the key.', ROLES), label: keyLabel, reason })

const MODELS = { sdk: 'SdkKey', server: 'ServerKey', platform: 'PlatformKey' } as const satisfies Record<
  KeyKind,
  string
>
const revokeFields = (kind: KeyKind) => ({ id: uuid("The key's id: its `keyId`, or its `id`.", MODELS[kind]), reason })

const DEFAULT_OPERATOR_TOKEN_SECONDS = 3_600

const createOperatorTokenRequest = shape({
  role: optional(oneOf("The role of the token: at most the key's own. Default: that of the key.", ROLES)),
  expiresInSeconds: optional(
    int32(`The lifetime in seconds: 1 to ${MAX_OPERATOR_TOKEN_SECONDS}. Default: ${DEFAULT_OPERATOR_TOKEN_SECONDS}.`, {
      min: 1,
      max: MAX_OPERATOR_TOKEN_SECONDS,
    }),
    DEFAULT_OPERATOR_TOKEN_SECONDS,
  ),
  actor: operatorName,
  reason,
})

const key = out.text('The key itself. It is shown in this answer only.')
const listed = 'The key as in lists.'
const revoked = 'The revoked key.'

export const keyCalls = [
  operatorChange({
    name: 'createSdkKey',
    input: 'CreateEnvironmentKeyInput',
    summary: 'Makes a key for the game clients of an environment.',
    request: createKeyRequest,
    answer: payload('CreateSdkKeyPayload', { key, sdkKey: out.kept('SdkKey', listed) }, 'Never null.'),
    right: 'manage',
    action: 'sdk_key.create',
    title: 'Make an SDK key',
    target: { word: 'keys' },
    async change({ client, caller }, asked) {
      const { outcome, ...change } = await issueEnvironmentKey(client, caller, 'sdk', asked)
      return { ...change, outcome: { key: outcome.key, sdkKey: outcome.id } }
    },
  }),
  operatorChange({
    name: 'createServerKey',
    input: 'CreateEnvironmentKeyInput',
    summary:
      "Makes a key of an environment for the game's own servers. Requires a platform key: a new key would outlive an operator token.",
    request: createKeyRequest,
    answer: payload('CreateServerKeyPayload', { key, serverKey: out.kept('ServerKey', listed) }, 'Never null.'),
    right: 'manage',
    keyOnly: true,
    action: 'server_key.create',
    title: 'Make a server key',
    target: { word: 'keys' },
    async change({ client, caller }, asked) {
      const { outcome, ...change } = await issueEnvironmentKey(client, caller, 'server', asked)
      return { ...change, outcome: { key: outcome.key, serverKey: outcome.id } }
    },
  }),
  operatorChange({
    name: 'createPlatformKey',
    summary:
      'Makes a key of this project for operators, dashboards and tools. Requires a platform key: a new key would outlive an operator token.',
    request: createPlatformKeyRequest,
    answer: payload('CreatePlatformKeyPayload', { key, platformKey: out.kept('PlatformKey', listed) }, 'Never null.'),
    right: 'manage',
    keyOnly: true,
    action: 'platform_key.create',
    title: 'Make a platform key',
    target: { word: 'keys' },
    async change({ client, caller }, asked) {
      const { outcome, ...change } = await issuePlatformKey(client, caller, asked)
      return { ...change, outcome: { key: outcome.key, platformKey: outcome.id } }
    },
  }),
  operatorAct({
    name: 'revokeSdkKey',
    input: 'RevokeEnvironmentKeyInput',
    summary: 'Revokes a key: its next call is refused, and its open sockets and streams close.',
    request: shape(revokeFields('sdk')),
    answer: payload('RevokeSdkKeyPayload', { sdkKey: out.kept('SdkKey', revoked) }, 'Never null.'),
    right: 'manage',
    unknownIsDenied: true,
    action: 'sdk_key.revoke',
    title: 'Revoke an SDK key',
    target: 'id',
    act: async ({ caller, service }, asked) => ({
      outcome: { sdkKey: asked.id },
      auditId: await revokeKey(service.operatorPool, caller, 'sdk', asked),
    }),
  }),
  operatorAct({
    name: 'revokeServerKey',
    input: 'RevokeEnvironmentKeyInput',
    summary: 'Revokes a key: its next call is refused.',
    request: shape(revokeFields('server')),
    answer: payload('RevokeServerKeyPayload', { serverKey: out.kept('ServerKey', revoked) }, 'Never null.'),
    right: 'manage',
    unknownIsDenied: true,
    action: 'server_key.revoke',
    title: 'Revoke a server key',
    target: 'id',
    act: async ({ caller, service }, asked) => ({
      outcome: { serverKey: asked.id },
      auditId: await revokeKey(service.operatorPool, caller, 'server', asked),
    }),
  }),
  operatorAct({
    name: 'revokePlatformKey',
    summary:
      'Revokes a key: its next call is refused, and its open sockets and streams close. What was planned with it continues: see `plannedPublications` and `openGrantJobs`.',
    request: shape({ ...revokeFields('platform'), allowLast }),
    answer: payload('RevokePlatformKeyPayload', { platformKey: out.kept('PlatformKey', revoked) }, 'Never null.'),
    right: 'manage',
    unknownIsDenied: true,
    action: 'platform_key.revoke',
    title: 'Revoke a platform key',
    target: 'id',
    act: async ({ caller, service }, asked) => ({
      outcome: { platformKey: asked.id },
      auditId: await revokeKey(service.operatorPool, caller, 'platform', asked),
    }),
  }),
  operatorAct({
    name: 'createOperatorToken',
    summary:
      'Makes a short-lived token for a person, for pages in browsers, which cannot keep a key. It ends with its lifetime or with the key. Requires a platform key: a token cannot make tokens.',
    request: createOperatorTokenRequest,
    answer: payload(
      'CreateOperatorTokenPayload',
      {
        token: out.text('Sent as `Authorization: Bearer …`, like a platform key.'),
        role: out.oneOf(ROLES, { description: 'The role of the token.' }),
        actor: out.text('The person whom the audit log names.'),
        expiresAt: out.moment('The first moment at which the token is refused.'),
      },
      'Never null.',
    ),
    right: 'read',
    keyOnly: true,
    action: ACTIONS.createOperatorToken,
    title: 'Sign in',
    target: { word: 'keys' },
    async act({ caller, service }, { role: asked, expiresInSeconds: seconds, actor, reason }) {
      const role = asked ?? caller.role
      if (!roleIncludes(caller.role, role)) {
        const message = `must be at most the key's own, ${caller.role}`
        throw new Refusal('forbidden', { faults: [{ path: 'role', message }] })
      }
      const { token, expiresAt, auditId } = await issueOperatorToken(service, caller, { role, seconds, actor, reason })
      return { outcome: { token, role, actor, expiresAt }, auditId }
    },
  }),
]

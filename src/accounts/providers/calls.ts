import { ACTIONS } from '../../audit/actions.ts'
import type { Fault } from '../../base/errors.ts'
import { RawJson } from '../../base/json.ts'
import { MAX_OVERLAP_SECONDS, MAX_PROVIDERS_VERSION, MAX_SECRET } from '../../base/limits.ts'
import { out } from '../../declare/answer.ts'
import { blankNotice } from '../../declare/blanks.ts'
import { environment, providerName, reason } from '../../declare/common.ts'
import { operatorAct, operatorChange, payload } from '../../declare/operator-call.ts'
import { int32, optional, shape, text } from '../../declare/shape.ts'
import { InputSource } from '../../declare/source.ts'
import type { AuthProvidersView, CustomProviderView } from './auth-providers.ts'
import { DEFAULT_OVERLAP_SECONDS, rotateProviderSecret } from './rotate-secret.ts'
import { setAuthProviders } from './settings.ts'
import { authProvidersRequest, readSettings, secretFault } from './settings-request.ts'

const setAuthProvidersRequest = shape({
  ...authProvidersRequest.fields,
  expectedVersion: optional(
    text('The `version` that was read. Refused with `VERSION_CONFLICT` when another one is current. Default: any.', {
      max: MAX_PROVIDERS_VERSION,
    }),
  ),
  reason,
})

const rotateSecretRequest = shape({
  environment,
  name: providerName,
  secret: optional(text('The new secret. Default: a generated one.', { max: MAX_SECRET, check: secretFault })),
  overlapSeconds: optional(
    int32(
      `How long the replaced secret still signs, in seconds: 0 to ${MAX_OVERLAP_SECONDS}. Default: ${DEFAULT_OVERLAP_SECONDS}. With 0, this secret and all earlier ones stop signing at once.`,
      { min: 0, max: MAX_OVERLAP_SECONDS },
    ),
    DEFAULT_OVERLAP_SECONDS,
  ),
  reason,
})

const notices = (description: string) => out.list(out.ofType<Fault>('Notice'), description)

export const providerCalls = [
  operatorAct({
    name: 'setAuthProviders',
    refusals: ['versionConflict'],
    summary: 'Sets login providers. The change counts for the next login, on every instance.',
    request: setAuthProvidersRequest,
    answer: payload('SetAuthProvidersPayload', {
      authProviders: out.ofType<AuthProvidersView>(
        'AuthProviders',
        'The providers of the environment after the change.',
      ),
      notices: notices(
        'Members that no rule knows, with the nearest known name, members that are repeated, and secrets with white space around them.',
      ),
    }),
    right: 'manage',
    action: ACTIONS.setProviders,
    title: 'Set login providers',
    target: { word: 'providers' },
    findsEnvironment: true,
    async act({ caller, service }, { environment, authProviders, expectedVersion: version, reason }) {
      const expected = version === null ? null : { version, path: 'expectedVersion' }
      const settings = readSettings(new InputSource({ environment, authProviders: new RawJson(authProviders) }))
      const { view, notices, auditId } = await setAuthProviders(service, caller, settings, { reason, expected })
      return { outcome: { authProviders: view, notices }, auditId }
    },
  }),
  operatorChange({
    name: 'rotateProviderSecret',
    refusals: ['tooManySecrets'],
    summary:
      'Replaces the secret of a custom provider from the next login on. During the overlap the old secret signs, too: `X-Signature` uses the new one, and `webhook-signature` has a signature by each.',
    request: rotateSecretRequest,
    answer: payload('RotateProviderSecretPayload', {
      provider: out.ofType<CustomProviderView & { readonly name: string }>(
        'CustomProvider',
        'The provider after the change.',
      ),
      secret: out.orNull(
        out.text(),
        'The generated secret, shown in this answer only. Null when the request gave one.',
      ),
      notices: notices('A notice about a given secret with white space around it.'),
    }),
    right: 'manage',
    action: 'auth_providers.rotate_secret',
    title: 'Rotate a provider’s secret',
    target: 'name',
    async change({ client, caller, service }, asked) {
      const { outcome, ...change } = await rotateProviderSecret(client, service.secrets, caller, asked)
      const message = blankNotice(asked.secret ?? '', 'the secret')
      return {
        ...change,
        outcome: { ...outcome, notices: message === undefined ? [] : [{ path: 'secret', message }] },
      }
    },
  }),
]

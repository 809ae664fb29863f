import type { AuthorizationServer } from 'oauth4webapi'
import type { Pool } from 'pg'
import type { Webhook } from '../../accounts/webhook/webhook.ts'
import type { Secrets } from '../../base/secrets.ts'
import { sentence } from '../../base/sentence.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { refuseFaults } from '../../declare/shape.ts'
import { IssuerFault } from './issuer-calls.ts'
import type { IssuerClient } from './issuer-client.ts'
import type { TestRequest } from './requests.ts'
import { clientFaults, openClientSecret, readSignOn, redirectUriOf } from './settings.ts'

// What can be tried of single sign-on before anybody signs in.

export const TESTED = ['configuration', 'start', 'client', 'claim'] as const
export const TEST_RESULTS = ['passed', 'failed', 'unknown'] as const

export const signOnTest = answer('How a part of a sign-in went.', {
  of: out.oneOf(TESTED, { description: 'The part.' }),
  result: out.oneOf(TEST_RESULTS, { description: 'How it went.' }),
  message: out.text('A sentence for the person who sets it up.'),
})
export type SignOnTest = AnswerOf<typeof signOnTest>

interface Deps {
  readonly operatorPool: Pool
  readonly secrets: Secrets
  readonly webhook: Pick<Webhook, 'mayCall'>
  readonly issuerClient: Pick<IssuerClient, 'configurationOf' | 'tryStart' | 'tryClient'>
}

/** Tries the parts of a sign-in, with these settings. Without a configuration the others cannot be tried. */
export async function testSignOn(
  { operatorPool, secrets, webhook, issuerClient }: Deps,
  { projectId }: PlatformCaller,
  { clientSecret: sent, groupsClaim, ...asked }: TestRequest,
): Promise<{ readonly redirectUri: string; readonly tests: readonly SignOnTest[] }> {
  refuseFaults(clientFaults(asked, webhook))
  const redirectUri = redirectUriOf({ consoleUrl: asked.consoleUrl, projectId })
  const stored = sent === null ? await readSignOn(operatorPool, projectId) : null
  const isStored = stored?.issuer === asked.issuer && stored.clientId === asked.clientId
  const clientSecret = isStored ? openClientSecret(secrets, stored) : sent
  const settings = { ...asked, clientSecret: clientSecret ?? null, redirectUri }

  let server: AuthorizationServer | undefined
  const configuration = await tested('configuration', async () => {
    server = await issuerClient.configurationOf(asked.issuer)
    return ['passed', 'The issuer answers, and signs people in by code with PKCE.']
  })
  if (!server) return { redirectUri, tests: [configuration] }

  const found = server
  const others = [
    tested('start', async () => {
      const { status, error } = await issuerClient.tryStart(found, settings)
      if (error === 'invalid_scope')
        return ['failed', `The issuer refuses the scopes ${asked.scopes.join(', ')} for this client.`]
      if (error !== null) return ['failed', `The issuer sends people back: ${error}.`]
      if (status === 400)
        return ['failed', `The issuer answers 400. Let its client ${asked.clientId} allow ${redirectUri}.`]
      if (status > 400) return ['unknown', `The issuer answers ${status}.`]
      return ['passed', 'The issuer begins a sign-in.']
    }),
    tested('client', async () => {
      if (clientSecret === undefined) return ['failed', 'The stored secret is under a key that SECRETS_KEYS lacks.']
      const error = await issuerClient.tryClient(found, settings)
      const whom = clientSecret === null ? 'the client' : 'the client and its secret'
      if (error === 'invalid_grant') return ['passed', `The issuer knows ${whom}.`]
      if (error === 'unauthorized_client')
        return ['failed', 'The issuer does not let this client sign people in by code.']
      return ['unknown', `The issuer answers ${error}, which does not say whether it knows ${whom}.`]
    }),
    tested('claim', async () => {
      const { claims_supported: claims } = found
      if (Array.isArray(claims) && claims.some((claim) => claim === groupsClaim || groupsClaim.startsWith(`${claim}.`)))
        return ['passed', `The issuer lists ${groupsClaim} among its claims.`]
      return ['unknown', `The issuer does not list ${groupsClaim} among its claims. Let it send it to this client.`]
    }),
  ]
  return { redirectUri, tests: [configuration, ...(await Promise.all(others))] }
}

async function tested(
  of: SignOnTest['of'],
  run: () => Promise<readonly [result: SignOnTest['result'], message: string]>,
): Promise<SignOnTest> {
  try {
    const [result, message] = await run()
    return { of, result, message }
  } catch (error) {
    if (!(error instanceof IssuerFault)) throw error
    return { of, result: 'failed', message: sentence(error.message) }
  }
}

import type { AuthorizationServer, Client, ClientAuth } from 'oauth4webapi'
import type { ConnectionOptions } from '../../base/outgoing/connections.ts'
import { type Asked, IssuerCalls, IssuerFault, redirectOf } from './issuer-calls.ts'

// What the service asks an OpenID Connect issuer, to sign people in: its configuration, and the tokens for a code.

export interface IssuerSettings {
  readonly issuer: string
  readonly clientId: string
  /** Null for a public client. */
  readonly clientSecret: string | null
  readonly redirectUri: string
  readonly scopes: readonly string[]
}

/** What the browser carries from the start of a sign-in to its end. */
export interface Proofs {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

export type Claims = Readonly<Record<string, unknown>>

export interface IssuerClient {
  /** The address at which the person signs in. Throws an {@link IssuerFault}. */
  begin(settings: IssuerSettings): Promise<{ readonly url: string; readonly proofs: Proofs }>
  /**
   * The claims of the person for whom the issuer sent the browser back, with those of its user info where the ID token
   * lacks `wanted`. Without an e-mail address that is not verified. Throws an {@link IssuerFault}.
   */
  finish(settings: IssuerSettings, answer: URLSearchParams, proofs: Proofs, wanted: string): Promise<Claims>
  /** The configuration of an issuer. Throws an {@link IssuerFault} for one that no sign-in would work with. */
  configurationOf(issuer: string): Promise<AuthorizationServer>
  /**
   * How the issuer answers the start of a sign-in: its status, and the error with which it sends the person back at once,
   * null for none. Throws an {@link IssuerFault}.
   */
  tryStart(
    server: AuthorizationServer,
    settings: IssuerSettings,
  ): Promise<{ readonly status: number; readonly error: string | null }>
  /**
   * The error with which the issuer answers a code that it has not given: `invalid_grant` from one that knows the client
   * and its secret. Throws an {@link IssuerFault}, also where it refuses the client.
   */
  tryClient(server: AuthorizationServer, settings: IssuerSettings): Promise<string>
  close(): Promise<void>
}

type Library = typeof import('oauth4webapi')

/** A step of a sign-in: the library, and what carries its requests. */
interface Step {
  readonly oauth: Library
  readonly calls: IssuerCalls
}

/** A step that asks an issuer whose configuration is known. */
interface IssuerStep extends Step {
  readonly server: AuthorizationServer
  readonly settings: IssuerSettings
}

export function createIssuerClient(options: ConnectionOptions): IssuerClient {
  const calls = new IssuerCalls(options)
  // Loaded at the first sign-in: few services use it.
  let loading: Promise<Library> | undefined

  /** Runs a step with the library, whose errors become faults without what the browser or the issuer sent. */
  async function asking<T>(ask: (step: Step) => Promise<T>): Promise<T> {
    loading ??= import('oauth4webapi')
    const oauth = await loading
    try {
      return await ask({ oauth, calls })
    } catch (error) {
      throw faultOf(error, oauth)
    }
  }

  return {
    configurationOf: (issuer) => asking((step) => discover(step, issuer)),
    begin: (settings) =>
      asking(async (step) => startAt({ ...step, settings, server: await discover(step, settings.issuer) })),
    tryStart: (server, settings) => asking((step) => tryStart({ ...step, settings, server })),
    tryClient: (server, settings) => asking((step) => tryClient({ ...step, settings, server })),
    finish: (settings, answer, proofs, wanted) =>
      asking(async (step) => {
        const server = await discover(step, settings.issuer)
        return finish({ ...step, settings, server }, answer, proofs, wanted)
      }),
    close: () => calls.close(),
  }
}

function faultOf(error: unknown, oauth: Library): IssuerFault {
  if (error instanceof IssuerFault) return error
  if (error instanceof oauth.AuthorizationResponseError)
    return new IssuerFault(`the issuer answered ${codeOf(error.error)}`, { cause: error, isRefusal: true })
  if (refusesClient(error, oauth)) {
    const message = 'the issuer refused the client: its id or its secret is not the one that the issuer has'
    return new IssuerFault(message, { cause: error })
  }
  if (error instanceof oauth.ResponseBodyError)
    return new IssuerFault(`the issuer answered ${codeOf(error.error)}`, { cause: error })
  if (error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError)
    return new IssuerFault(error.message, { cause: error })
  // The issuer's documents have other types than they must.
  return new IssuerFault('the answer of the issuer cannot be used', { cause: error })
}

const refusesClient = (error: unknown, oauth: Library): boolean =>
  error instanceof oauth.WWWAuthenticateChallengeError ||
  (error instanceof oauth.ResponseBodyError && error.error === 'invalid_client')

const optionsOf = ({ oauth, calls }: Step) => ({
  [oauth.customFetch]: ((url: string, asked: Asked) => calls.fetch(url, asked)) as never,
  // Addresses without TLS are for development: the guard lets them reach private addresses only where these may be.
  [oauth.allowInsecureRequests]: true,
})

async function discover(step: Step, issuer: string): Promise<AuthorizationServer> {
  const { oauth } = step
  const url = new URL(issuer)
  const response = await oauth.discoveryRequest(url, { algorithm: 'oidc', ...optionsOf(step) })
  const server = await oauth.processDiscoveryResponse(url, response)
  const { code_challenge_methods_supported: methods } = server
  if (methods && !methods.includes('S256')) throw new IssuerFault('the issuer does not support PKCE with S256')
  for (const name of ['authorization_endpoint', 'token_endpoint'] as const)
    if (!URL.canParse(server[name] ?? '')) throw new IssuerFault(`the configuration of the issuer has no ${name}`)
  return server
}

async function startAt({ oauth, server, settings }: IssuerStep) {
  const proofs: Proofs = {
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    verifier: oauth.generateRandomCodeVerifier(),
  }
  const url = new URL(server.authorization_endpoint ?? '')
  for (const [name, value] of Object.entries({
    client_id: settings.clientId,
    redirect_uri: settings.redirectUri,
    response_type: 'code',
    scope: settings.scopes.join(' '),
    state: proofs.state,
    nonce: proofs.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(proofs.verifier),
    code_challenge_method: 'S256',
  }))
    url.searchParams.set(name, value)
  return { url: url.href, proofs }
}

async function tryStart(step: IssuerStep) {
  const { url } = await startAt(step)
  const { status, to } = await step.calls.ask(url, { method: 'GET', headers: {} }, async (answer) => {
    // A page for people.
    answer.body.destroy()
    return { status: answer.status, to: redirectOf(answer) ?? '' }
  })
  const error = to.startsWith(step.settings.redirectUri) ? new URL(to).searchParams.get('error') : null
  return { status, error: error === null ? null : codeOf(error) }
}

async function tryClient(step: IssuerStep): Promise<string> {
  const { oauth, server, settings } = step
  const client: Client = { client_id: settings.clientId }
  const form = new URLSearchParams({
    code: oauth.generateRandomState(),
    redirect_uri: settings.redirectUri,
    code_verifier: oauth.generateRandomCodeVerifier(),
  })
  try {
    await withProof(step, async (proof) => {
      const asked = [server, client, proof, 'authorization_code', form, optionsOf(step)] as const
      const response = await oauth.genericTokenEndpointRequest(...asked)
      return oauth.processGenericTokenEndpointResponse(server, client, response)
    })
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError && error.error !== 'invalid_client') return codeOf(error.error)
    throw error
  }
  throw new IssuerFault('the issuer gave a token for a code that it has not given')
}

async function finish(step: IssuerStep, answer: URLSearchParams, proofs: Proofs, wanted: string): Promise<Claims> {
  const { oauth, server, settings } = step
  const client: Client = { client_id: settings.clientId }
  const parameters = oauth.validateAuthResponse(server, client, answer, proofs.state)
  const result = await withProof(step, async (proof) => {
    const response = await oauth.authorizationCodeGrantRequest(
      ...([server, client, proof, parameters, settings.redirectUri, proofs.verifier, optionsOf(step)] as const),
    )
    return oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: proofs.nonce,
      requireIdToken: true,
    })
  })
  const claims = oauth.getValidatedIdTokenClaims(result)
  if (!claims) throw new IssuerFault('the issuer sent no ID token')
  const own = vouched(claims)
  if (claimAt(own, wanted) !== undefined || server.userinfo_endpoint === undefined) return own
  const info = await oauth.userInfoRequest(server, client, result.access_token, optionsOf(step))
  return { ...vouched(await oauth.processUserInfoResponse(server, client, claims.sub, info)), ...own }
}

/** Asks with the client's secret, in the way in which the issuer takes it. */
async function withProof<T>(
  { oauth, server, settings }: IssuerStep,
  ask: (proof: ClientAuth) => Promise<T>,
): Promise<T> {
  const { clientSecret } = settings
  if (clientSecret === null) return ask(oauth.None())
  const methods = server.token_endpoint_auth_methods_supported
  const inForm = () => ask(oauth.ClientSecretPost(clientSecret))
  if (methods?.includes('client_secret_basic') === false) return inForm()
  return ask(oauth.ClientSecretBasic(clientSecret)).catch((error) => {
    // Some issuers say that they take the secret in the header, and know this client by its form alone.
    if (methods?.includes('client_secret_post') === false || !refusesClient(error, oauth)) throw error
    return inForm()
  })
}

/** A claim by its name, or by the path of a nested one, such as `realm_access.roles`. */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  return name.split('.').reduce<unknown>((value, part) => {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && Object.hasOwn(value, part) ? (value as Claims)[part] : undefined
  }, claims)
}

/** The claims of a document. An e-mail address that the document itself does not call verified is none. */
const vouched = ({ email, ...claims }: Claims): Claims =>
  email !== undefined && claims.email_verified === true ? { ...claims, email } : claims

/** An error code of OAuth, such as `access_denied`. Anything else that was sent is not repeated. */
const codeOf = (code: string): string => (/^[a-z_]{1,64}$/.test(code) ? code : 'an unknown error')

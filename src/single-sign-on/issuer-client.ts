import type { AuthorizationServer, Client } from 'oauth4webapi'
import { request } from 'undici'
import {
  ATTEMPT_TIMEOUT_MS,
  BODILESS,
  type ConnectionOptions,
  decodedBody,
  errorOf,
  guardedAgent,
  readAtMost,
  within,
} from '../webhook/webhook-connection.ts'

// What the service asks an OpenID Connect issuer, to sign people in: its configuration, and the tokens for a code.

/** The longest answer of an issuer. */
const MAX_BYTES = 512 * 2 ** 10

/** Why an issuer could not be asked, or what is wrong with its answer. It contains no code, token or secret. */
export class IssuerFault extends Error {
  /** The issuer said that the person is not signed in, or has cancelled. */
  readonly isRefusal: boolean

  constructor(message: string, options: ErrorOptions & { readonly isRefusal?: boolean } = {}) {
    super(message, options)
    this.isRefusal = options.isRefusal ?? false
  }
}

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
  /** Throws an {@link IssuerFault} for an issuer that no sign-in would work with. */
  check(issuer: string): Promise<void>
  close(): Promise<void>
}

type Library = typeof import('oauth4webapi')

/** Asks issuers with the guards of webhook calls: addresses, time, size, no redirects. */
export function createIssuerClient(options: ConnectionOptions): IssuerClient {
  const agent = guardedAgent(options)
  // Loaded at the first sign-in: few services use it.
  let loading: Promise<Library> | undefined
  const library = (): Promise<Library> => {
    loading ??= import('oauth4webapi')
    return loading
  }

  async function guardedFetch(
    url: string,
    init: { method: string; headers: object; body?: unknown },
  ): Promise<Response> {
    const signal = AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)
    try {
      const sent = request(url, {
        ...{ dispatcher: agent, signal },
        method: init.method as 'GET',
        headers: { ...init.headers, 'user-agent': 'tierway' },
        ...(init.body != null && { body: String(init.body) }),
      })
      // undici observes the signal only once it is connected.
      const { statusCode, headers, body } = await within(signal, sent)
      body.on('error', () => undefined)
      if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
        body.destroy()
        throw new IssuerFault(`a redirect, status ${statusCode}, at ${new URL(url).origin}`)
      }
      const bytes = await readAtMost(decodedBody(body, headers), MAX_BYTES)
      return new Response(BODILESS.has(statusCode) ? null : bytes, {
        status: statusCode,
        headers: { 'content-type': String(headers['content-type'] ?? '') },
      })
    } catch (error) {
      if (error instanceof IssuerFault) throw error
      throw new IssuerFault(`${errorOf(error, signal).replaceAll('_', ' ')} at ${new URL(url).origin}`, {
        cause: error,
      })
    }
  }

  const optionsOf = (oauth: Library) => ({
    [oauth.customFetch]: guardedFetch as never,
    // Addresses without TLS are for development: the guard lets them reach private addresses only where these may be.
    [oauth.allowInsecureRequests]: true,
  })

  async function discover(oauth: Library, issuer: string): Promise<AuthorizationServer> {
    const url = new URL(issuer)
    const response = await oauth.discoveryRequest(url, { algorithm: 'oidc', ...optionsOf(oauth) })
    const server = await oauth.processDiscoveryResponse(url, response)
    const { code_challenge_methods_supported: methods } = server
    if (methods && !methods.includes('S256')) throw new IssuerFault('the issuer does not support PKCE with S256')
    for (const name of ['authorization_endpoint', 'token_endpoint'] as const)
      if (!URL.canParse(server[name] ?? '')) throw new IssuerFault(`the configuration of the issuer has no ${name}`)
    return server
  }

  /** Runs a step with the library, whose errors become faults without what the browser or the issuer sent. */
  async function asking<T>(ask: (oauth: Library) => Promise<T>): Promise<T> {
    const oauth = await library()
    try {
      return await ask(oauth)
    } catch (error) {
      if (error instanceof IssuerFault) throw error
      if (error instanceof oauth.AuthorizationResponseError)
        throw new IssuerFault(`the issuer answered ${codeOf(error.error)}`, { cause: error, isRefusal: true })
      if (
        error instanceof oauth.WWWAuthenticateChallengeError ||
        (error instanceof oauth.ResponseBodyError && error.error === 'invalid_client')
      )
        throw new IssuerFault(
          'the issuer refused the client: its id or its secret is not the one that the issuer has',
          {
            cause: error,
          },
        )
      if (error instanceof oauth.ResponseBodyError)
        throw new IssuerFault(`the issuer answered ${codeOf(error.error)}`, { cause: error })
      if (error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError)
        throw new IssuerFault(error.message, { cause: error })
      // The issuer's documents have other types than they must.
      throw new IssuerFault('the answer of the issuer cannot be used', { cause: error })
    }
  }

  return {
    check: (issuer) => asking(async (oauth) => void (await discover(oauth, issuer))),

    begin: (settings) =>
      asking(async (oauth) => {
        const { authorization_endpoint: endpoint = '' } = await discover(oauth, settings.issuer)
        const proofs = {
          state: oauth.generateRandomState(),
          nonce: oauth.generateRandomNonce(),
          verifier: oauth.generateRandomCodeVerifier(),
        }
        const url = new URL(endpoint)
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
      }),

    finish: (settings, answer, { state, nonce, verifier }, wanted) =>
      asking(async (oauth) => {
        const server = await discover(oauth, settings.issuer)
        const client: Client = { client_id: settings.clientId }
        const { clientSecret } = settings
        const parameters = oauth.validateAuthResponse(server, client, answer, state)
        const methods = server.token_endpoint_auth_methods_supported
        const isBasic = methods === undefined || methods.includes('client_secret_basic')
        const proof =
          clientSecret === null
            ? oauth.None()
            : isBasic
              ? oauth.ClientSecretBasic(clientSecret)
              : oauth.ClientSecretPost(clientSecret)
        const exchange = async (way: typeof proof) => {
          const response = await oauth.authorizationCodeGrantRequest(
            ...([server, client, way, parameters, settings.redirectUri, verifier, optionsOf(oauth)] as const),
          )
          return oauth.processAuthorizationCodeResponse(server, client, response, {
            expectedNonce: nonce,
            requireIdToken: true,
          })
        }
        // Some issuers say that they take the secret in the header, and know this client by its form alone.
        const mayPost = isBasic && (methods?.includes('client_secret_post') ?? true)
        const result = await exchange(proof).catch((error) => {
          const isRefused = error instanceof oauth.ResponseBodyError && error.error === 'invalid_client'
          const isChallenged = error instanceof oauth.WWWAuthenticateChallengeError
          if (clientSecret === null || !mayPost || !(isRefused || isChallenged)) throw error
          return exchange(oauth.ClientSecretPost(clientSecret))
        })
        const claims = oauth.getValidatedIdTokenClaims(result)
        if (!claims) throw new IssuerFault('the issuer sent no ID token')
        const own = vouched(claims)
        if (claimAt(own, wanted) !== undefined || server.userinfo_endpoint === undefined) return own
        const info = await oauth.userInfoRequest(server, client, result.access_token, optionsOf(oauth))
        return { ...vouched(await oauth.processUserInfoResponse(server, client, claims.sub, info)), ...own }
      }),

    close: () => agent.destroy(),
  }
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
const codeOf = (code: string): string => (/^[a-z_]{1,64}$/.test(code) ? code : 'with an unknown error')

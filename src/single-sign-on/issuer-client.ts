import type { AuthorizationServer, Client, ClientAuth } from 'oauth4webapi'
import { MAX_WEBHOOK_TIMEOUT_MS } from '../base/limits.ts'
import { errorOf } from '../base/outgoing/attempt-fault.ts'
import type { ConnectionOptions } from '../base/outgoing/connections.ts'
import { type Answer, BODILESS, createOutgoing, wholeBody } from '../base/outgoing/outgoing.ts'

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

/** A request of the library. */
interface Asked {
  readonly method: string
  readonly headers: object
  readonly body?: unknown
}

/** Asks issuers with the guards of all calls that go out: addresses, time, size, no redirects. */
export function createIssuerClient(options: ConnectionOptions): IssuerClient {
  const outgoing = createOutgoing({ ...options, name: 'issuer of single sign-on' })
  // Loaded at the first sign-in: few services use it.
  let loading: Promise<Library> | undefined
  const library = (): Promise<Library> => {
    loading ??= import('oauth4webapi')
    return loading
  }

  async function ask<T>(
    url: string,
    { method, headers, body }: Asked,
    read: (answer: Answer) => Promise<T>,
  ): Promise<T> {
    const asked = {
      method: method as 'GET' | 'POST',
      headers: headers as Record<string, string>,
      ...(body != null && { body: Buffer.from(String(body)) }),
      timeoutMs: MAX_WEBHOOK_TIMEOUT_MS,
    }
    try {
      return await outgoing.send(url, { ...asked, read })
    } catch (error) {
      throw new IssuerFault(`${errorOf(error).replaceAll('_', ' ')} at ${new URL(url).origin}`, { cause: error })
    }
  }

  /** The fetch of the library, which follows no redirect. */
  async function guardedFetch(url: string, asked: Asked): Promise<Response> {
    const response = await ask(url, asked, async (answer) => {
      const { status, headers } = answer
      if (redirectOf(answer) !== undefined) {
        answer.body.destroy()
        return status
      }
      const bytes = await wholeBody(answer, MAX_BYTES)
      // `Response` refuses a body, also an empty one, with a status that has none.
      const content = BODILESS.has(status) ? null : bytes
      return new Response(content, { status, headers: { 'content-type': String(headers['content-type'] ?? '') } })
    })
    if (typeof response === 'number') throw new IssuerFault(`a redirect, status ${response}, at ${new URL(url).origin}`)
    return response
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

  /** Asks with the client's secret, in the way in which the issuer takes it. */
  async function withProof<T>(
    {
      oauth,
      server,
      clientSecret,
    }: Pick<IssuerSettings, 'clientSecret'> & { oauth: Library; server: AuthorizationServer },
    ask: (proof: ClientAuth) => Promise<T>,
  ): Promise<T> {
    if (clientSecret === null) return ask(oauth.None())
    const methods = server.token_endpoint_auth_methods_supported
    const inForm = () => ask(oauth.ClientSecretPost(clientSecret))
    if (methods?.includes('client_secret_basic') === false) return inForm()
    return ask(oauth.ClientSecretBasic(clientSecret)).catch((error) => {
      // Some issuers say that they take the secret in the header, and know this client by its form alone.
      const isRefused = error instanceof oauth.ResponseBodyError && error.error === 'invalid_client'
      const isChallenged = error instanceof oauth.WWWAuthenticateChallengeError
      if (methods?.includes('client_secret_post') === false || !(isRefused || isChallenged)) throw error
      return inForm()
    })
  }

  async function startAt(oauth: Library, server: AuthorizationServer, settings: IssuerSettings) {
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

  return {
    configurationOf: (issuer) => asking((oauth) => discover(oauth, issuer)),

    begin: (settings) => asking(async (oauth) => startAt(oauth, await discover(oauth, settings.issuer), settings)),

    tryStart: (server, settings) =>
      asking(async (oauth) => {
        const { url } = await startAt(oauth, server, settings)
        const { status, to } = await ask(url, { method: 'GET', headers: {} }, async (answer) => {
          // A page for people.
          answer.body.destroy()
          return { status: answer.status, to: redirectOf(answer) ?? '' }
        })
        const error = to.startsWith(settings.redirectUri) ? new URL(to).searchParams.get('error') : null
        return { status, error: error === null ? null : codeOf(error) }
      }),

    tryClient: (server, settings) =>
      asking(async (oauth) => {
        const client: Client = { client_id: settings.clientId }
        const form = new URLSearchParams({
          code: oauth.generateRandomState(),
          redirect_uri: settings.redirectUri,
          code_verifier: oauth.generateRandomCodeVerifier(),
        })
        try {
          await withProof({ oauth, server, clientSecret: settings.clientSecret }, async (proof) => {
            const asked = [server, client, proof, 'authorization_code', form, optionsOf(oauth)] as const
            const response = await oauth.genericTokenEndpointRequest(...asked)
            return oauth.processGenericTokenEndpointResponse(server, client, response)
          })
        } catch (error) {
          if (error instanceof oauth.ResponseBodyError && error.error !== 'invalid_client') return codeOf(error.error)
          throw error
        }
        throw new IssuerFault('the issuer gave a token for a code that it has not given')
      }),

    finish: (settings, answer, { state, nonce, verifier }, wanted) =>
      asking(async (oauth) => {
        const server = await discover(oauth, settings.issuer)
        const client: Client = { client_id: settings.clientId }
        const { clientSecret } = settings
        const parameters = oauth.validateAuthResponse(server, client, answer, state)
        const result = await withProof({ oauth, server, clientSecret }, async (proof) => {
          const response = await oauth.authorizationCodeGrantRequest(
            ...([server, client, proof, parameters, settings.redirectUri, verifier, optionsOf(oauth)] as const),
          )
          return oauth.processAuthorizationCodeResponse(server, client, response, {
            expectedNonce: nonce,
            requireIdToken: true,
          })
        })
        const claims = oauth.getValidatedIdTokenClaims(result)
        if (!claims) throw new IssuerFault('the issuer sent no ID token')
        const own = vouched(claims)
        if (claimAt(own, wanted) !== undefined || server.userinfo_endpoint === undefined) return own
        const info = await oauth.userInfoRequest(server, client, result.access_token, optionsOf(oauth))
        return { ...vouched(await oauth.processUserInfoResponse(server, client, claims.sub, info)), ...own }
      }),

    close: outgoing.close,
  }
}

/** Where an answer leads. Undefined for one that is no redirect. */
const redirectOf = ({ status, headers }: Answer): string | undefined =>
  status >= 300 && status < 400 && headers.location !== undefined ? String(headers.location) : undefined

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

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { expect } from 'vitest'

// A real issuer: an OpenID Connect server that knows nothing of Tierway. Any password signs an account in.

export interface OpenIdServer {
  readonly issuer: string
  stop(): Promise<void>
}

export interface OpenIdClient {
  readonly id: string
  /** Without one, the client is public. */
  readonly secret?: string
  /** Set for one that sends its secret in the form alone, although the issuer says that it takes the header. */
  readonly isByForm?: boolean
  /** The scopes that it may ask for. Default: any. */
  readonly scope?: string
  readonly redirectUri: string
}

/** Starts an issuer whose accounts have these claims. `isTerse` has ID tokens without them: user info has them. */
export async function startOpenIdServer({
  clients,
  claimsOf,
  isTerse = false,
  requiresPkce = false,
}: {
  readonly clients: readonly OpenIdClient[]
  /** Of an ID token, or of user info. */
  readonly claimsOf: (account: string, use: string) => Readonly<Record<string, unknown>>
  readonly isTerse?: boolean
  readonly requiresPkce?: boolean
}): Promise<OpenIdServer> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: clients.map(({ id, secret, isByForm, scope, redirectUri }) => ({
      client_id: id,
      ...(secret !== undefined && { client_secret: secret }),
      redirect_uris: [redirectUri],
      ...(scope !== undefined && { scope }),
      response_types: ['code'],
      grant_types: ['authorization_code'],
      token_endpoint_auth_method: secret === undefined ? 'none' : `client_secret_${isByForm ? 'post' : 'basic'}`,
      application_type: 'native',
    })),
    pkce: { required: () => requiresPkce },
    conformIdTokenClaims: isTerse,
    claims: {
      openid: ['sub'],
      profile: ['nickname', 'preferred_username', 'groups', 'realm_access'],
      email: ['email', 'email_verified'],
    },
    findAccount: (_context, id) => ({ accountId: id, claims: (use) => ({ sub: id, ...claimsOf(id, use) }) }),
    cookies: { keys: ['a key of the test'] },
  })
  server.on('request', provider.callback())
  return {
    issuer,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** What a browser does: it keeps the cookies of each origin, and follows redirects as far as the test wants. */
export class Visitor {
  private readonly cookies = new Map<string, Map<string, string>>()

  async visit(
    url: string,
    { form, method }: { form?: Record<string, string>; method?: string } = {},
  ): Promise<Response> {
    const { origin } = new URL(url)
    const own = this.cookies.get(origin) ?? new Map<string, string>()
    this.cookies.set(origin, own)
    const response = await fetch(url, {
      method: method ?? (form ? 'POST' : 'GET'),
      redirect: 'manual',
      headers: { cookie: [...own].map(([name, value]) => `${name}=${value}`).join('; ') },
      body: form && new URLSearchParams(form),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (value === '' || /Max-Age=0\b/.test(cookie)) own.delete(name)
      else own.set(name, value)
    }
    return response
  }

  /** Follows an address, signing in as an account on the issuer's pages, up to an address that begins with `end`. */
  async signIn(url: string, account: string, end: string): Promise<string> {
    let here = url
    for (let step = 0; step < 16; step += 1) {
      if (here.startsWith(end)) return here
      const response = await this.visit(here)
      const location = response.headers.get('location')
      if (location !== null) {
        here = new URL(location, here).href
        continue
      }
      // A page of the issuer: to sign in, then to consent.
      const page = await response.text()
      const [, prompt = 'login'] = /name="prompt" value="(\w+)"/.exec(page) ?? []
      const form: Record<string, string> = prompt === 'login' ? { prompt, login: account, password: 'any' } : { prompt }
      const answered = await this.visit(here, { form })
      here = new URL(answered.headers.get('location') ?? '', here).href
    }
    return expect.fail(`${end} was not reached, but ${here}`)
  }
}

import { parsed, readAs, readerOf, readNothing } from './answers.ts'
import { type PlayerCalls, playerCalls } from './calls.ts'
import type {
  CustomLinkRequest,
  CustomLoginRequest,
  DeviceLoginRequest,
  IdentityUnlinkRequest,
  IdTokenLinkRequest,
  IdTokenLoginRequest,
  InboxClaimAllResponse,
  InboxClaimResponse,
  InboxRequest,
  InboxResponse,
  OidcLinkRequest,
  OidcLoginRequest,
  OwnIdentities,
  OwnSessions,
  Player,
  PlayerUpdateRequest,
  ScenarioView,
  SeasonsResponse,
  StorageKeys,
  StorageListRequest,
  SwitchRequest,
  TokenPair,
} from './contract.ts'
import {
  ENDED_SESSIONS,
  INBOX_CLAIM_ALL_RESPONSE,
  INBOX_CLAIM_RESPONSE,
  INBOX_READ_RESPONSE,
  INBOX_RESPONSE,
  OWN_IDENTITIES,
  OWN_SESSIONS,
  PLANNED_DELETION,
  PLAYER,
  SEASONS_RESPONSE,
  STORAGE_KEYS,
  STORAGE_VALUES,
  TOKEN_PAIR,
} from './contract.ts'
import { Device } from './device.ts'
import { TierwayError } from './error.ts'
import { type EventOptions, listen, type TierwayEvent } from './events.ts'
import { membersOf, printExact } from './json.ts'
import { Listeners } from './listeners.ts'
import { PlayerLogin, type SignedOut } from './login.ts'
import { checkOptions, storagePrefix } from './options.ts'
import type { Fetch } from './platform.ts'
import { type Scenario, ScenarioSession, startSession } from './scenario.ts'
import { Sockets } from './socket.ts'
import { memoryStorage, type Storage } from './storage.ts'
import { type CallOptions, type ChangeOptions, createTransport, type Reader, type Transport } from './transport.ts'
import { type ViewOptions, Views } from './views.ts'

export interface TierwayOptions {
  /** Where the service is, such as `https://play.example.com`. */
  readonly baseUrl: string
  /** `twsdk_…`: names the project and its environment. It is no secret. */
  readonly sdkKey: string
  /** The storage of the login. Default: memory. `localStorage()` keeps it in browsers. */
  readonly storage?: Storage
  /**
   * The function that makes requests. Default: the platform's `fetch`. In React Native pass that of `expo/fetch`, which
   * streams: events need it where no WebSocket can be opened.
   */
  readonly fetch?: Fetch
  /** The longest time of one attempt, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number
  /** How often a call is retried after a failure that may pass. Default: 3. */
  readonly retries?: number
}

/** A login of a guest, with the profile of a new player. */
export type GuestRequest = Partial<DeviceLoginRequest>

/** Events of a client's login. */
export interface LoginEvents {
  /** A player has signed in. */
  readonly signedIn: { readonly playerId: string }
  /** No player is signed in any more. Network failures never cause this. */
  readonly signedOut: { readonly why: SignedOut }
}

const LOGIN_TIMEOUT_MS = 15_000
/** A used refresh token answers the same pair for ten seconds. An attempt ends early enough for the next one. */
const REFRESH_TIMEOUT_MS = 3_000

/**
 * A game's connection to Tierway, for one player at a time. Create one for each player; they share nothing.
 *
 * Calls reject with a `TierwayError` when they are refused or not answered. They are retried after failures that may
 * pass. Each call that changes something carries a key, so that it takes effect once.
 */
export class Tierway {
  /** The player's own storage in the service: up to 1,000 JSON values by key. */
  readonly storage: PlayerStorage
  /** @internal For other parts of the library. */
  readonly calls: PlayerCalls
  readonly #transport: Transport
  readonly #login: PlayerLogin
  readonly #sdkKey: string
  readonly #device: Device
  readonly #listeners = new Listeners<LoginEvents>()
  readonly #views: Views
  /** @internal The storage for data that must outlive the page. */
  readonly keep: { readonly storage: Storage; readonly prefix: string }

  /** Throws `invalid_request` for a faulty option, and where the platform lacks something. */
  constructor(options: TierwayOptions) {
    checkOptions(options)
    const { baseUrl, sdkKey, storage, fetch, timeoutMs, retries } = options
    this.#sdkKey = sdkKey
    this.#transport = createTransport({
      baseUrl,
      // Browsers require a call on the global object.
      fetch: fetch ?? ((url, init) => globalThis.fetch(url, init)),
      timeoutMs: timeoutMs ?? 10_000,
      retries: retries ?? 3,
    })
    this.keep = { storage: storage ?? memoryStorage(), prefix: storagePrefix(baseUrl, sdkKey) }
    this.#login = new PlayerLogin({
      storage: this.keep.storage,
      storageKey: `${this.keep.prefix}:login`,
      refresh: (refreshToken) =>
        this.#client('/sdk/v1/authorization/refresh', { refreshToken }, readerOf(TOKEN_PAIR), {
          timeoutMs: REFRESH_TIMEOUT_MS,
          retries: 3,
        }),
      signedOut: (why) => this.#listeners.emit('signedOut', { why }),
    })
    this.#device = new Device(this.keep)
    this.calls = playerCalls(this.#transport, new Sockets(baseUrl), this.#login)
    this.#views = new Views(this.calls)
    this.storage = new PlayerStorage(this.calls)
  }

  /** The id of the signed-in player; null when no player is signed in. A stored login is known after `restore`. */
  get playerId(): string | null {
    return this.#login.playerId
  }

  /** Loads the stored login. Resolves to true when a player is signed in. Calls do this by themselves. */
  async restore(): Promise<boolean> {
    await this.#login.restore()
    return this.playerId !== null
  }

  /**
   * Signs a player in through the studio's webhook. When this succeeds while another player is signed in, that one is
   * signed out: `signedOut` comes before `signedIn`, and the former login ends at the service, too.
   */
  async login(request: CustomLoginRequest, options?: CallOptions): Promise<void> {
    await this.#signIn('custom', request, options)
  }

  /** Attaches another identity to the player, through the same webhook. */
  async link(request: CustomLinkRequest, options?: CallOptions): Promise<void> {
    await this.#attach('custom', request, options)
  }

  /**
   * Signs a player in by an ID token of Google. A token with a nonce works once: when the answer is lost, the call is
   * not retried, and needs a new token.
   */
  async loginGoogle(request: IdTokenLoginRequest, options?: CallOptions): Promise<void> {
    await this.#signIn('google', request, options)
  }

  /** Attaches the player's account at Google, by an ID token. */
  async linkGoogle(request: IdTokenLinkRequest, options?: CallOptions): Promise<void> {
    await this.#attach('google', request, options)
  }

  /** Signs a player in by an ID token of Apple, as `loginGoogle` does. */
  async loginApple(request: IdTokenLoginRequest, options?: CallOptions): Promise<void> {
    await this.#signIn('apple', request, options)
  }

  /** Attaches the player's account at Apple, by an ID token. */
  async linkApple(request: IdTokenLinkRequest, options?: CallOptions): Promise<void> {
    await this.#attach('apple', request, options)
  }

  /** Signs a player in by an ID token of an issuer that the studio has added, as `loginGoogle` does. */
  async loginOidc(request: OidcLoginRequest, options?: CallOptions): Promise<void> {
    await this.#signIn('oidc', request, options)
  }

  /** Attaches the player's account at such an issuer, by an ID token. */
  async linkOidc(request: OidcLinkRequest, options?: CallOptions): Promise<void> {
    await this.#attach('oidc', request, options)
  }

  /**
   * Signs a guest in. The first call makes an id at random and keeps it in the storage: later ones, after a logout, too,
   * sign the same player in. With the default storage it is lost with the page. Where the platform has no
   * `crypto.getRandomValues`, pass a `deviceId` of your own.
   */
  async loginGuest(request: GuestRequest = {}, options?: CallOptions): Promise<void> {
    const deviceId = request.deviceId ?? (await this.#device.id())
    await this.#signIn('device', { ...request, deviceId }, options)
  }

  /** Attaches this device to the player, who can then sign in by `loginGuest`. */
  async linkGuest(request: Pick<GuestRequest, 'deviceId'> = {}, options?: CallOptions): Promise<void> {
    const deviceId = request.deviceId ?? (await this.#device.id())
    await this.#attach('device', { deviceId }, options)
  }

  /**
   * Signs in to the player that has the identity of a refused link: with the `facts.conflict.ticket` of the error
   * `identity_already_linked`, which works once, within ten minutes, and is there where the environment gives tickets.
   * The former player is signed out, as by a login.
   */
  async switchPlayer(request: SwitchRequest, options?: CallOptions): Promise<void> {
    const headers = { 'x-sdk-key': this.#sdkKey }
    const call = { timeoutMs: LOGIN_TIMEOUT_MS, ...options, retries: 0, headers, isChange: true }
    const pair = await this.calls.send(
      '/sdk/v1/authorization/switch',
      { ...call, body: printExact(request) },
      readerOf(TOKEN_PAIR),
    )
    await this.#take(pair)
  }

  /**
   * Signs the player out at once. Then calls the service; if that fails, the refresh token expires after seven days.
   */
  async logout(options?: CallOptions): Promise<void> {
    const refreshToken = await this.#login.clear()
    if (refreshToken !== null) await this.#endAtService(refreshToken, options)
  }

  /** Calls a function when a login begins or ends. Returns a function that removes the listener. */
  on<Name extends keyof LoginEvents>(name: Name, listener: (event: LoginEvents[Name]) => unknown): () => void {
    return this.#listeners.on(name, listener)
  }

  /** Reads the player, with its wallet, inventory and identities. */
  async player(options?: CallOptions): Promise<Player> {
    return this.calls.call('/sdk/v1/player/get', {}, PLAYER, options)
  }

  /**
   * Lists the player's seasons, the last started first: one for each battle pass that it has begun, also those that are
   * over.
   */
  async seasons(options?: CallOptions): Promise<SeasonsResponse['seasons']> {
    return (await this.calls.call('/sdk/v1/seasons/list', {}, SEASONS_RESPONSE, options)).seasons
  }

  /** Lists the messages in the player's inbox, the newest first, with counts of the whole inbox. */
  inbox(request: InboxRequest = {}, options?: CallOptions): Promise<InboxResponse> {
    return this.calls.call('/sdk/v1/inbox/list', request, INBOX_RESPONSE, options)
  }

  /**
   * Claims the rewards of one message. Repeated calls grant them once. The message is read, too. A "no" of the game is
   * `error`.
   */
  claimMessage(messageId: string, options?: ChangeOptions): Promise<InboxClaimResponse> {
    return this.calls.change('/sdk/v1/inbox/claim', { messageId }, INBOX_CLAIM_RESPONSE, options)
  }

  /**
   * Claims the rewards of all messages that fit, the oldest first, up to 100 messages. Repeat it while `remaining` falls.
   */
  claimAllMessages(options?: ChangeOptions): Promise<InboxClaimAllResponse> {
    return this.calls.change('/sdk/v1/inbox/claim-all', {}, INBOX_CLAIM_ALL_RESPONSE, options)
  }

  /**
   * Marks messages as read: 1 to 100. Unknown ones are passed over. Resolves to the number of messages that were not
   * read.
   */
  async readMessages(messageIds: readonly string[], options?: CallOptions): Promise<number> {
    return (await this.calls.change('/sdk/v1/inbox/read', { messageIds }, INBOX_READ_RESPONSE, options)).unread
  }

  /**
   * Reads what a game draws of a scenario: its passes with texts and pictures, and where the player stands. A view that
   * has not changed is not sent again, and its seconds are counted down.
   */
  view(scenarioId: string, options?: ViewOptions): Promise<ScenarioView> {
    return this.#views.read(scenarioId, options)
  }

  /** Changes the player's nickname, region and language, where the environment lets clients. Fields that are left out stay. */
  async update(request: PlayerUpdateRequest, options?: CallOptions): Promise<void> {
    await this.#change('/sdk/v1/player/update', request, options)
  }

  /** Lists the identities that log the player in. */
  async identities(options?: CallOptions): Promise<OwnIdentities['identities']> {
    return (await this.calls.call('/sdk/v1/identities/list', {}, OWN_IDENTITIES, options)).identities
  }

  /** Removes an identity from the player. The last one stays: it is refused with `last_identity`. */
  async unlink(request: IdentityUnlinkRequest, options?: CallOptions): Promise<void> {
    await this.#change('/sdk/v1/identities/unlink', request, options)
  }

  /** Lists the player's sessions: its logins that go on, on all devices. */
  async sessions(options?: CallOptions): Promise<OwnSessions['sessions']> {
    return (await this.calls.call('/sdk/v1/sessions/list', {}, OWN_SESSIONS, options)).sessions
  }

  /**
   * Ends one session by its id, all `others`, or `all`. Resolves to the number of sessions that ended. After `all` the
   * player is signed out here, too.
   */
  async endSessions(session: string, options?: CallOptions): Promise<number> {
    const { ended } = await this.calls.call('/sdk/v1/sessions/end', { session }, ENDED_SESSIONS, options)
    if (session === 'all') await this.#login.clear()
    return ended
  }

  /** Reads all that is stored of the player: a text of lines, each of which is a JSON object. */
  async exportData(options?: CallOptions): Promise<string> {
    return this.calls.send('/sdk/v1/player/export', { ...options, body: '{}' }, (text) => text)
  }

  /**
   * Deletes the player after the delay that its environment sets, and signs it out on all devices. Resolves to the time
   * of the deletion. A login before then cancels it: do not sign the player in again by yourself.
   */
  async deletePlayer(options?: CallOptions): Promise<string> {
    const { deleteAt } = await this.calls.call('/sdk/v1/player/delete', {}, PLANNED_DELETION, options)
    await this.#login.clear()
    return deleteAt
  }

  /** A scenario, which the player can start. */
  scenario(scenarioId: string): Scenario {
    return {
      start: (options) => startSession(this.calls.ofPlayer(), scenarioId, options),
      open: (runId) => new ScenarioSession(this.calls.ofPlayer(), scenarioId, { runId, isResumed: true }),
    }
  }

  /**
   * The player's events, live, in order, without a gap: a broken connection is reopened, and missed events are
   * replayed. Ends with the signal, or with `break`. Throws a `TierwayError` with `cursor_expired` when events after
   * the cursor are no longer kept, and every other error that does not pass by itself.
   */
  events(options?: EventOptions): AsyncGenerator<TierwayEvent, void, undefined> {
    return listen(this.calls, options)
  }

  /** Ends a login at the service. If that fails, its refresh token expires after seven days. */
  async #endAtService(refreshToken: string, options?: CallOptions): Promise<void> {
    try {
      await this.#client('/sdk/v1/authorization/logout', { refreshToken }, readNothing, options)
    } catch (error) {
      if (!TierwayError.is(error)) throw error
    }
  }

  async #change(path: string, request: object, options?: CallOptions): Promise<void> {
    await this.calls.send(path, { ...options, body: printExact(request), isChange: true }, readNothing)
  }

  async #signIn(kind: string, request: object, options?: CallOptions): Promise<void> {
    const call = { timeoutMs: LOGIN_TIMEOUT_MS, ...unrepeated(request), ...options }
    const pair = await this.#client(`/sdk/v1/authorization/${kind}`, request, readerOf(TOKEN_PAIR), call)
    await this.#take(pair)
  }

  async #take(pair: TokenPair): Promise<void> {
    const former = await this.#login.take(pair)
    if (former !== null) void this.#endAtService(former)
    this.#listeners.emit('signedIn', { playerId: this.playerId ?? '' })
  }

  async #attach(kind: string, request: object, options?: CallOptions): Promise<void> {
    const headers = { 'x-sdk-key': this.#sdkKey }
    const call = { timeoutMs: LOGIN_TIMEOUT_MS, ...unrepeated(request), ...options, headers, isChange: true }
    await this.calls.send(`/sdk/v1/authorization/${kind}/link`, { ...call, body: printExact(request) }, readNothing)
  }

  /** A call of the game before a player is signed in. */
  async #client<Answer>(path: string, body: object, read: Reader<Answer>, options?: CallOptions): Promise<Answer> {
    const headers = { 'x-sdk-key': this.#sdkKey }
    return this.#transport.post(path, { ...options, body: printExact(body), headers }, read)
  }
}

/** A token with a nonce works once, so another attempt after a lost answer would be refused. */
const unrepeated = (request: { readonly nonce?: unknown }): CallOptions =>
  request.nonce === undefined || request.nonce === null ? {} : { retries: 0 }

/** The player's own storage: JSON values by key. Numbers beyond 2^53 are `bigint`. */
export class PlayerStorage {
  readonly #calls: PlayerCalls

  constructor(calls: PlayerCalls) {
    this.#calls = calls
  }

  /** Reads these keys, or all. Missing keys are left out. */
  async get(keys?: readonly string[], options?: CallOptions): Promise<Record<string, unknown>> {
    return { ...(await this.#calls.call('/sdk/v1/storage/get', { keys }, STORAGE_VALUES, options)).values }
  }

  /** Reads keys like `get`, but as JSON texts, byte for byte as they were written. */
  async getRaw(keys?: readonly string[], options?: CallOptions): Promise<Record<string, string>> {
    const request = { ...options, body: printExact({ keys }) }
    return this.#calls.send('/sdk/v1/storage/get', request, (text, status) => {
      readAs(STORAGE_VALUES, parsed(text, status))
      const [, values = '{}'] = membersOf(text).find(([name]) => name === 'values') ?? []
      return Object.fromEntries(membersOf(values))
    })
  }

  /**
   * Lists keys with the sizes of their values, up to 200 at a time: a full storage does not fit into one answer. Pass
   * `next` as `after` for the following keys; it is null at the end.
   */
  async list(page: StorageListRequest = {}, options?: CallOptions): Promise<StorageKeys> {
    return this.#calls.call('/sdk/v1/storage/list', page, STORAGE_KEYS, options)
  }

  /** Writes these keys, all or none. Other keys stay. */
  async set(values: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<void> {
    await this.#set(printExact({ values }), options)
  }

  /** Writes keys as JSON texts, which are kept byte for byte. Throws a `SyntaxError` for a text that is not JSON. */
  async setRaw(values: Readonly<Record<string, string>>, options?: CallOptions): Promise<void> {
    const members = Object.entries(values).map(([key, text]) => {
      JSON.parse(text)
      return `${JSON.stringify(key)}:${text}`
    })
    await this.#set(`{"values":{${members.join(',')}}}`, options)
  }

  /** Removes these keys. */
  async delete(keys: readonly string[], options?: CallOptions): Promise<void> {
    const request = { ...options, body: printExact({ keys }), isChange: true }
    await this.#calls.send('/sdk/v1/storage/delete', request, readNothing)
  }

  async #set(body: string, options?: CallOptions): Promise<void> {
    const request = { ...options, body, isChange: true }
    await this.#calls.send('/sdk/v1/storage/set', request, readNothing)
  }
}

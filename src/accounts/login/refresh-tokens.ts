import { createHmac, hash, randomBytes } from 'node:crypto'
import { Refusal } from '../../base/errors.ts'
import type { ClientRef, PlayerCaller } from '../../callers/callers.ts'
import { askClient } from '../../callers/keys.ts'
import type { Tokens } from '../../callers/tokens.ts'
import { newId } from '../../db/ids.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { askStatus, requireMayLogIn } from '../../players/player-status.ts'
import { boolean, moment, nullable, readOnly, text, uuid } from '../../transactions/columns.ts'
import type { Command } from '../../transactions/command.ts'
import type { Extension, Group } from '../../transactions/group.ts'
import type { GroupCommit } from '../../transactions/group-commit.ts'
import { keyOf, type PlayerRef, playerKey } from '../../transactions/player.ts'
import type { Statement } from '../../transactions/statement.ts'
import { table } from '../../transactions/table.ts'
import { EXAMPLE_REFRESH_TOKEN } from './requests.ts'

/** Lifetime of a refresh token, in seconds: 7 days (contract 5, contract 8). */
const REFRESH_TOKEN_SECONDS = 604_800
/** A used token gets the same pair again for this long, since the first answer may have been lost. */
const REPLAY_MS = 10_000
const PREFIX = 'twrt_'

const storedTokens = table('refresh_tokens', {
  owner: null,
  key: { environmentId: uuid, hash: text },
  columns: {
    playerId: uuid,
    familyId: uuid,
    childNonce: nullable(text),
    rotatedAt: nullable(moment),
    claims: nullable(text),
    deviceName: nullable(text),
    isExpired: readOnly(boolean, 't.expires_at <= clock_timestamp()'),
    isRevoked: readOnly(boolean, 't.revoked_at IS NOT NULL'),
  },
  kind: 'append',
  computed: { expires_at: `now() + interval '${REFRESH_TOKEN_SECONDS} seconds'` },
  expired: 'expires_at < now()',
})
const ownerOf = storedTokens.one({ columns: ['playerId'] })
const tokenByHash = storedTokens.one()
const endedToken = storedTokens.one({
  by: ['environmentId', 'playerId', 'familyId'],
  where: 't.revoked_at IS NOT NULL',
  columns: ['familyId'],
})
const loginOf = storedTokens.one({ by: ['environmentId', 'playerId', 'familyId'], columns: ['familyId'] })
/** The one token of each login that can still be exchanged. */
const newestTokens = storedTokens.many(['environmentId', 'playerId'], ({ familyId }) => familyId, {
  where: 't.rotated_at IS NULL AND t.revoked_at IS NULL AND t.expires_at > clock_timestamp()',
  columns: ['familyId'],
})
/** An ended login makes no more tokens. What it said of the player is erased. */
const REVOCATION = {
  name: 'revoke',
  set: 'revoked_at = now(), claims = NULL, device_name = NULL',
  where: 't.revoked_at IS NULL',
}

/** The contents of a pair of tokens, which is made once the transaction is committed. */
export interface Session extends PlayerRef {
  readonly refreshToken: string
  /** `jti` of the access token: its family of refresh tokens, and the refresh token of its pair. */
  readonly tokenId: string
  /** `iat` of the access token: seconds since 1970. */
  readonly issuedAt: number
  /** The text of the object that the webhook gave the login for its access tokens. */
  readonly claims: string | null
}

interface TokenRef {
  readonly environmentId: string
  readonly hash: string
}

/** A login of a player: the family of its refresh tokens. */
export interface LoginRef extends PlayerRef {
  readonly familyId: string
}

/** What a login keeps for all of its tokens. */
export interface LoginDetails {
  /** The text of the object that the webhook gave the login for its access tokens. */
  readonly claims: string | null
  /** The device, in the client's words. */
  readonly deviceName: string | null
}

interface Login extends LoginRef, LoginDetails {}

interface RefreshToken extends TokenRef, Login {
  readonly childNonce: string | null
  readonly rotatedAt: Date | null
  readonly isExpired: boolean
  readonly isRevoked: boolean
}

const hashOf = (token: string): string => hash('sha256', token, 'base64url')
const newToken = (secret: Buffer): string => PREFIX + secret.toString('base64url')

/**
 * The token that follows another. It is derived from the old token, which only its holder has, and a nonce, which only
 * the database has: the same child can be made again, and neither side can make it alone.
 */
const childOf = (token: string, nonce: string): string => newToken(createHmac('sha256', token).update(nonce).digest())

export class RefreshTokens implements Extension {
  static readonly stage = 'changes'
  private readonly group: Group
  private readonly added: RefreshToken[] = []
  private readonly rotated: RefreshToken[] = []
  private readonly revoked = new Map<string, LoginRef>()
  private readonly ended = new Map<string, PlayerRef>()

  constructor(group: Group) {
    this.group = group
  }

  askOwner(ref: TokenRef): Pick<RefreshToken, 'playerId'> | undefined {
    const owner = this.group.unowned.one(ownerOf, tokenKey(ref))
    return (owner.isKnown && owner.value) || undefined
  }

  /** Asks for a token: first for its player, then, under the player's lock, for its state. */
  ask(ref: TokenRef): RefreshToken | undefined {
    const owner = this.askOwner(ref)
    if (!owner) return undefined
    askStatus(this.group.player({ ...ref, ...owner }))
    return this.askHeld(ref)
  }

  /** Asks for a token of a player that is locked. */
  askHeld(ref: TokenRef): RefreshToken | undefined {
    const token = this.group.unowned.one(tokenByHash, tokenKey(ref))
    return (token.isKnown && token.value) || undefined
  }

  /**
   * Asks whether the login of an access token has ended. Ask no earlier than for its player, whose lock keeps a login
   * from ending. The returned function refuses an ended login, once the group no longer waits.
   */
  askLogin({ environmentId, playerId, familyId, expiresAt }: PlayerCaller): () => void {
    const ended =
      familyId === null ? null : this.group.unowned.one(endedToken, keyOf(environmentId, playerId, familyId))
    return () => {
      const isEnded = ended?.value || (familyId !== null && this.isEndedHere({ environmentId, playerId, familyId }))
      if (isEnded || expiresAt <= Date.now()) throw new Refusal('invalidToken')
    }
  }

  /**
   * Asks for the logins of a player that go on. Ask no earlier than for its player, whose lock keeps logins from beginning
   * and ending. The returned function gives them in the order of their beginnings, once the group no longer waits.
   */
  askLogins({ environmentId, playerId }: PlayerRef): () => LoginRef[] {
    const stored = this.group.unowned.many(newestTokens, keyOf(environmentId, playerId))
    return () => {
      const player = playerKey({ environmentId, playerId })
      const begun = this.added.filter((token) => playerKey(token) === player).map(({ familyId }) => familyId)
      return [...new Set([...stored.keys(), ...begun])]
        .sort()
        .map((familyId) => ({ environmentId, playerId, familyId }))
        .filter((login) => !this.isEndedHere(login))
    }
  }

  /** Asks whether a player has, or had within seven days, a login. */
  askKnown({ environmentId, playerId, familyId }: LoginRef): () => boolean {
    const known = this.group.unowned.one(loginOf, keyOf(environmentId, playerId, familyId))
    return () => known.value !== null
  }

  /** Begins a family with the first pair of a login. */
  begin({ environmentId, playerId }: PlayerRef, issuedAt: number, details: LoginDetails): Session {
    return this.add({ environmentId, playerId, familyId: newId(), ...details }, newToken(randomBytes(32)), issuedAt)
  }

  /** Marks a token as used. Returns its successor. */
  rotate(token: RefreshToken, text: string, rotatedAt: Date): Session {
    const childNonce = randomBytes(32).toString('base64url')
    const rotated = { ...token, rotatedAt, childNonce }
    this.note(rotated)
    this.rotated.push(rotated)
    return this.add(token, childOf(text, childNonce), Math.floor(rotatedAt.getTime() / 1000))
  }

  /** Ends a family with all of its tokens. */
  revoke({ environmentId, playerId, familyId }: LoginRef): void {
    this.group.note()
    this.revoked.set(familyId, { environmentId, playerId, familyId })
  }

  /**
   * Ends every family of a player. The player's row is locked: a family that began before ends, too, and a family that
   * begins after stays valid.
   */
  revokeAll({ environmentId, playerId }: PlayerRef): void {
    const player = playerKey({ environmentId, playerId })
    this.ended.set(player, { environmentId, playerId })
    for (const token of this.added) if (playerKey(token) === player) this.revoke(token)
  }

  /** Tokens that the group itself begins are never asked for within it: no client has them yet. */
  isRevoked(token: RefreshToken): boolean {
    return token.isRevoked || this.isEndedHere(token)
  }

  /** Whether the group itself ends a login. */
  private isEndedHere(login: LoginRef): boolean {
    return this.revoked.has(login.familyId) || this.ended.has(playerKey(login))
  }

  private note(token: RefreshToken): void {
    this.group.unowned.slot(tokenByHash, tokenKey(token)).note(token)
  }

  private add(login: Login, refreshToken: string, issuedAt: number): Session {
    const { environmentId, playerId, familyId, claims, deviceName } = login
    const hash = hashOf(refreshToken)
    const unused = { childNonce: null, rotatedAt: null, isExpired: false, isRevoked: false }
    const token = { environmentId, hash, playerId, familyId, claims, deviceName, ...unused }
    this.group.note()
    this.added.push(token)
    this.note(token)
    return sessionOf(token, refreshToken, issuedAt)
  }

  save(): Statement[] {
    return [
      // First, so that families that this group began after `revokeAll` stay valid.
      ...storedTokens.update([...this.ended.values()], ['environmentId', 'playerId'], REVOCATION),
      ...storedTokens.save(this.added),
      ...storedTokens.update(this.rotated, ['environmentId', 'hash'], {
        name: 'rotate',
        set: 'rotated_at = to_timestamp(r.rotated_at / 1000), child_nonce = r.child_nonce',
        further: ['rotatedAt', 'childNonce'],
      }),
      ...storedTokens.update([...this.revoked.values()], ['environmentId', 'playerId', 'familyId'], REVOCATION),
    ]
  }
}

const tokenKey = ({ environmentId, hash }: TokenRef): string => keyOf(environmentId, hash)

function sessionOf(
  { environmentId, playerId, familyId, hash, claims }: TokenRef & Login,
  refreshToken: string,
  issuedAt: number,
): Session {
  // Derived from stored values, so that the same pair can be answered again, to the byte.
  return { environmentId, playerId, refreshToken, tokenId: `${familyId}.${hash.slice(0, 16)}`, issuedAt, claims }
}

/**
 * Exchanges a refresh token for a new pair. Within 10 seconds the same token gets the same pair, unless that pair has
 * been used. Any other use of a used token ends its whole family. The result is then null instead of a refusal, so that
 * the end is committed; the client receives only `invalid token`.
 */
export function refresh(client: ClientRef, text: string): Command<Session | null> {
  const { environmentId } = client
  const ref = { environmentId, hash: hashOf(text) }
  return {
    engine: 'logins',
    fresh: true,
    *decide(group) {
      const tokens = group.of(RefreshTokens)
      const { token, requireClient } = yield* group.rowsFrom(
        () => tokens.askOwner(ref),
        () => ({ token: tokens.ask(ref), requireClient: askClient(group, client) }),
      )
      requireClient()
      if (!token) throw new Refusal('invalidToken')
      const child = token.childNonce === null ? null : childOf(text, token.childNonce)
      const childToken = yield* group.rows(() =>
        child === null ? undefined : tokens.askHeld({ environmentId, hash: hashOf(child) }),
      )
      if (token.isExpired) throw new Refusal('invalidToken')
      // Checked before the family: a deletion ends all families, and the player should learn that it is deleted.
      requireMayLogIn(group.player(token))
      if (tokens.isRevoked(token)) throw new Refusal('invalidToken')

      const { rotatedAt } = token
      if (rotatedAt === null || child === null) return tokens.rotate(token, text, group.now)
      const usedMs = group.now.getTime() - rotatedAt.getTime()
      if (childToken && childToken.rotatedAt === null && usedMs <= REPLAY_MS) {
        return sessionOf(childToken, child, Math.floor(rotatedAt.getTime() / 1000))
      }
      tokens.revoke(token)
      return null
    },
  }
}

/** Ends the family of a refresh token. An unknown, expired or ended token is no error. */
export function endSession(environmentId: string, text: string): Command<void> {
  const ref = { environmentId, hash: hashOf(text) }
  return {
    engine: 'logins',
    fresh: true,
    *decide(group) {
      const token = yield* group.rows(() => group.of(RefreshTokens).ask(ref))
      if (token) group.of(RefreshTokens).revoke(token)
    },
  }
}

export const tokenPair = answer(
  'The tokens of a login.',
  {
    accessToken: out.text(
      'A JWT for `Authorization: Bearer`. Valid for 24 hours; when the login ends earlier, the token ends within two seconds.',
    ),
    refreshToken: out.text('Valid for 7 days and for one use.'),
  },
  {
    name: 'TokenPair',
    example: {
      accessToken: 'eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCIsImtpZCI6ImEifQ.eyJzdWIiOiIwMTlhYTRjNSJ9.c2lnbmF0dXJl',
      refreshToken: EXAMPLE_REFRESH_TOKEN,
    },
  },
)
export type TokenPair = AnswerOf<typeof tokenPair>

export interface TokenDeps {
  readonly run: GroupCommit['run']
  readonly tokens: Tokens
}

export async function issueTokenPair(
  tokens: Tokens,
  { projectId }: ClientRef,
  { refreshToken, ...session }: Session,
): Promise<TokenPair> {
  return { accessToken: await tokens.issueAccessToken({ projectId, ...session }), refreshToken }
}

/** Exchanges a refresh token for a new pair. Refuses any other token with `invalid token`. */
export async function refreshTokens(
  { run, tokens }: TokenDeps,
  client: ClientRef,
  refreshToken: string,
): Promise<TokenPair> {
  const session = await run(refresh(client, refreshToken))
  if (!session) throw new Refusal('invalidToken')
  return issueTokenPair(tokens, client, session)
}

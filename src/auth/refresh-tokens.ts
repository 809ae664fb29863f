import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { uuidv7 } from 'uuidv7'
import type { Command } from '../commit/command.ts'
import { type Group, LATER, type Part } from '../commit/group.ts'
import { type PlayerRef, playerKey } from '../commit/player.ts'
import type { Statement } from '../commit/statement.ts'
import { columns, Wanted } from '../commit/wanted.ts'
import { purge } from '../db/purge.ts'
import { Refusal } from '../errors.ts'
import { askStanding, requireActive } from '../players/standing.ts'

/** Lifetime of a refresh token, in seconds: 7 days (spec 5, spec 8). */
export const REFRESH_TOKEN_SECONDS = 604_800
/** So long after its use a token answers the same pair again: a client may have lost the answer. */
const REPLAY_MS = 10_000
const PREFIX = 'twrt_'

/** What a pair of tokens is made from once the transaction is committed. */
export interface Session extends PlayerRef {
  readonly refreshToken: string
  /** `jti` of the access token: the family of refresh tokens that it came with, and which of them. */
  readonly tokenId: string
  /** `iat` of the access token: seconds since 1970. */
  readonly issuedAt: number
}

interface TokenRef {
  readonly environmentId: string
  readonly hash: string
}

interface RefreshToken extends TokenRef, PlayerRef {
  readonly familyId: string
  readonly isExpired: boolean
  rotatedAt: number | null
  childNonce: string | null
  isRevoked: boolean
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('base64url')
const newToken = (secret: Buffer): string => PREFIX + secret.toString('base64url')

/**
 * The token that follows another. Made from the old token, which only its holder has, and a nonce, which only the
 * database has: so the same child can be answered again, and neither of the two can make it alone.
 */
const childOf = (token: string, nonce: string): string => newToken(createHmac('sha256', token).update(nonce).digest())

/** The refresh tokens of a group. */
export class RefreshTokens implements Part {
  static readonly stage = 'changes'
  private readonly wantedOwners: Wanted<TokenRef>
  private readonly wantedTokens: Wanted<TokenRef>
  private readonly owners = new Map<string, PlayerRef>()
  private readonly tokens = new Map<string, RefreshToken>()
  private readonly added: (TokenRef & { playerId: string; familyId: string })[] = []
  private readonly rotated = new Map<string, RefreshToken>()
  private readonly revoked = new Map<string, { environmentId: string; playerId: string; familyId: string }>()
  private readonly ended = new Map<string, PlayerRef>()

  constructor(group: Group) {
    this.wantedOwners = new Wanted(group)
    this.wantedTokens = new Wanted(group)
  }

  /** Asks whose a token is. The token itself is read when that player is locked. */
  askOwner(ref: TokenRef): PlayerRef | undefined {
    this.wantedOwners.want(tokenKey(ref), ref)
    return this.owners.get(tokenKey(ref))
  }

  /** Asks for a token, as it is under its player's lock. */
  ask(ref: TokenRef): RefreshToken | undefined {
    if (!this.tokens.has(tokenKey(ref))) this.wantedTokens.want(tokenKey(ref), ref)
    const token = this.tokens.get(tokenKey(ref))
    if (token && this.revoked.has(token.familyId)) token.isRevoked = true
    return token
  }

  /** Begins a family: the first pair of a login. */
  begin({ environmentId, playerId }: PlayerRef, issuedAt: number): Session {
    return this.add({ environmentId, playerId }, uuidv7(), newToken(randomBytes(32)), issuedAt)
  }

  /** Uses a token up, at a time of the database's clock in milliseconds. */
  rotate(token: RefreshToken, text: string, now: number): Session {
    token.rotatedAt = now
    token.childNonce = randomBytes(32).toString('base64url')
    this.rotated.set(tokenKey(token), token)
    return this.add(token, token.familyId, childOf(text, token.childNonce), Math.floor(now / 1000))
  }

  /** Ends a family: none of its tokens is good any more. */
  revoke({ environmentId, playerId, familyId }: RefreshToken): void {
    this.revoked.set(familyId, { environmentId, playerId, familyId })
  }

  /** Ends every family of a player. Its row is locked: a new one begins before it, or after it and lives on. */
  revokeAll({ environmentId, playerId }: PlayerRef): void {
    const player = playerKey({ environmentId, playerId })
    this.ended.set(player, { environmentId, playerId })
    for (const token of this.tokens.values()) if (playerKey(token) === player) this.revoke(token)
  }

  private add(
    { environmentId, playerId }: PlayerRef,
    familyId: string,
    refreshToken: string,
    issuedAt: number,
  ): Session {
    const hash = hashOf(refreshToken)
    const ref = { environmentId, hash }
    this.added.push({ ...ref, playerId, familyId })
    this.tokens.set(tokenKey(ref), {
      ...ref,
      playerId,
      familyId,
      isExpired: false,
      rotatedAt: null,
      childNonce: null,
      isRevoked: false,
    })
    return sessionOf({ environmentId, playerId, familyId, hash }, refreshToken, issuedAt)
  }

  load(): Statement[] {
    return [
      ...this.wantedOwners.statements({
        name: 'refresh-owners',
        text: `SELECT k.n::int, t.player_id
          FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS k(environment_id, hash, n) CROSS JOIN LATERAL (
            SELECT player_id FROM refresh_tokens t WHERE t.environment_id = k.environment_id AND t.hash = k.hash LIMIT 1
          ) t`,
        columns: ['environmentId', 'hash'],
        take: (key, [, playerId], { environmentId }) => this.owners.set(key, { environmentId, playerId }),
      }),
      ...this.wantedTokens.statements({
        name: 'refresh-tokens',
        text: `SELECT k.n::int, t.player_id, t.family_id, t.expires_at <= clock_timestamp(),
            extract(epoch FROM t.rotated_at) * 1000, t.child_nonce, t.revoked_at IS NOT NULL
          FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS k(environment_id, hash, n) CROSS JOIN LATERAL (
            SELECT * FROM refresh_tokens t WHERE t.environment_id = k.environment_id AND t.hash = k.hash LIMIT 1
          ) t`,
        columns: ['environmentId', 'hash'],
        take: (key, [, playerId, familyId, isExpired, rotatedAt, childNonce, isRevoked], ref) =>
          this.tokens.set(key, {
            ...ref,
            playerId,
            familyId,
            isExpired,
            rotatedAt: rotatedAt === null ? null : Number(rotatedAt),
            childNonce,
            isRevoked: isRevoked || this.ended.has(playerKey({ environmentId: ref.environmentId, playerId })),
          }),
      }),
    ]
  }

  save(): Statement[] {
    const statements: Statement[] = []
    // First: what began after it in this group lives on.
    if (this.ended.size > 0) {
      statements.push({
        name: 'refresh-end',
        text: `UPDATE refresh_tokens t SET revoked_at = now()
          FROM unnest($1::uuid[], $2::uuid[]) AS k(environment_id, player_id)
          WHERE t.environment_id = k.environment_id AND t.player_id = k.player_id AND t.revoked_at IS NULL`,
        values: columns([...this.ended.values()], ['environmentId', 'playerId']),
      })
    }
    if (this.added.length > 0) {
      statements.push({
        name: 'refresh-add',
        text: `INSERT INTO refresh_tokens (environment_id, hash, player_id, family_id, expires_at)
          SELECT *, now() + interval '${REFRESH_TOKEN_SECONDS} seconds'
          FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[])`,
        values: columns(this.added, ['environmentId', 'hash', 'playerId', 'familyId']),
      })
    }
    if (this.rotated.size > 0) {
      statements.push({
        name: 'refresh-rotate',
        text: `UPDATE refresh_tokens t SET rotated_at = to_timestamp(k.rotated_at / 1000), child_nonce = k.child_nonce
          FROM unnest($1::uuid[], $2::text[], $3::float8[], $4::text[]) AS k(environment_id, hash, rotated_at, child_nonce)
          WHERE t.environment_id = k.environment_id AND t.hash = k.hash`,
        values: columns([...this.rotated.values()], ['environmentId', 'hash', 'rotatedAt', 'childNonce']),
      })
    }
    if (this.revoked.size > 0) {
      statements.push({
        name: 'refresh-revoke',
        text: `UPDATE refresh_tokens t SET revoked_at = now()
          FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS k(environment_id, player_id, family_id)
          WHERE t.environment_id = k.environment_id AND t.player_id = k.player_id AND t.family_id = k.family_id
            AND t.revoked_at IS NULL`,
        values: columns([...this.revoked.values()], ['environmentId', 'playerId', 'familyId']),
      })
    }
    return statements
  }
}

const tokenKey = ({ environmentId, hash }: TokenRef): string => `${environmentId}/${hash}`

function sessionOf(
  { environmentId, playerId, familyId, hash }: TokenRef & PlayerRef & { familyId: string },
  refreshToken: string,
  issuedAt: number,
): Session {
  // Made from what is stored: the same pair can be answered again, to the byte.
  return { environmentId, playerId, refreshToken, tokenId: `${familyId}.${hash.slice(0, 16)}`, issuedAt }
}

/** Asks for a token: first whose it is, then, under that player's lock, what has become of it. */
function askToken(group: Group, ref: TokenRef): RefreshToken | undefined {
  const tokens = group.of(RefreshTokens)
  const owner = tokens.askOwner(ref)
  if (!owner) return undefined
  askStanding(group.player(owner))
  return tokens.ask(ref)
}

/**
 * Uses a refresh token up for a new pair. Inside 10 seconds the same token answers the same pair, as long as that has not
 * been used either. Any other use of a used token ends its whole family, and answers null: so must the caller not learn
 * more than `invalid token`, while the end of the family is committed.
 */
export function refresh(environmentId: string, text: string): Command<Session | null> {
  const ref = { environmentId, hash: hashOf(text) }
  return {
    lane: 'logins',
    locks: true,
    decide(group) {
      const tokens = group.of(RefreshTokens)
      const token = askToken(group, ref)
      if (group.waits) return LATER
      if (!token) throw new Refusal('invalidToken')
      const child = token.childNonce === null ? null : childOf(text, token.childNonce)
      const childToken = child === null ? undefined : tokens.ask({ environmentId, hash: hashOf(child) })
      if (group.waits) return LATER
      if (token.isExpired) throw new Refusal('invalidToken')
      // Before the end of its family: a deletion ends all of them, and is what the player is to be told.
      requireActive(group.player(token))
      if (token.isRevoked) throw new Refusal('invalidToken')

      const now = group.now.getTime()
      if (token.rotatedAt === null || child === null) return tokens.rotate(token, text, now)
      if (childToken && childToken.rotatedAt === null && now - token.rotatedAt <= REPLAY_MS) {
        return sessionOf(childToken, child, Math.floor(token.rotatedAt / 1000))
      }
      tokens.revoke(token)
      return null
    },
  }
}

/** Ends the family of a refresh token. One that is unknown, expired or ended already is no fault. */
export function endSession(environmentId: string, text: string): Command<void> {
  const ref = { environmentId, hash: hashOf(text) }
  return {
    lane: 'logins',
    locks: true,
    decide(group) {
      const token = askToken(group, ref)
      if (group.waits) return LATER
      if (token) group.of(RefreshTokens).revoke(token)
    },
  }
}

/** Removes expired tokens, a bounded number at a time; says how many. */
export const purgeExpiredTokens = (pool: Pool): Promise<number> => purge(pool, 'refresh_tokens', 'expires_at < now()')

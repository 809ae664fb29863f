import type { GroupCommit } from '../commit/group-commit.ts'
import { Refusal } from '../errors.ts'
import type { ClientRef } from './callers.ts'
import { refresh, type Session } from './refresh-tokens.ts'
import type { Tokens } from './tokens.ts'

/** What a login and a refresh answer (spec 4.2). */
export type TokenPair = {
  readonly accessToken: string
  readonly refreshToken: string
}

/** What tokens are issued with. */
export interface TokenDesk {
  readonly run: GroupCommit['run']
  readonly tokens: Tokens
}

/** Makes the pair of a session that is committed. */
export async function issueTokenPair(
  tokens: Tokens,
  { projectId }: ClientRef,
  { refreshToken, ...session }: Session,
): Promise<TokenPair> {
  return { accessToken: await tokens.issueAccessToken({ projectId, ...session }), refreshToken }
}

/** Exchanges a refresh token for a new pair. Refuses any other token with `invalid token`. */
export async function refreshTokens(
  { run, tokens }: TokenDesk,
  client: ClientRef,
  refreshToken: string,
): Promise<TokenPair> {
  const session = await run(refresh(client.environmentId, refreshToken))
  if (!session) throw new Refusal('invalidToken')
  return issueTokenPair(tokens, client, session)
}

/**
 * The library of Tierway for game servers in Node. Its page is docs/server.md.
 *
 * @packageDocumentation
 */
export type { ClaimedTier, CrossResponse, EnteredNode, ExecutionPlan, Player, Reward } from '../client/contract.ts'
export { type ErrorCode, type Fault, TierwayError } from '../client/error.ts'
export type { Fetch, FetchRequest, FetchResponse, Signal } from '../client/platform.ts'
export type { CallOptions } from '../client/transport.ts'
export type { EndedCode } from './ended-tokens.ts'
export type { EndedAccess, FollowOptions } from './follow-ended.ts'
export {
  type Change,
  createServerClient,
  type ServerCallOptions,
  type ServerClient,
  type ServerClientOptions,
} from './server-client.ts'
export type {
  FindPlayerRequest,
  GrantXpRequest,
  GrantXpResponse,
  PlayerProgress,
  PlayersProgressRequest,
  PlayersProgressResponse,
  ServerCrossRequest,
  WalletGrantRequest,
  WalletResponse,
  WalletSpendRequest,
  XpGrantResult,
} from './server-contract.ts'
export {
  createTokenVerifier,
  TokenError,
  type TokenErrorCode,
  type TokenVerifier,
  type TokenVerifierOptions,
  type VerifiedPlayer,
} from './token-verifier.ts'

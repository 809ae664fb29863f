import type { Pool } from 'pg'
import type { KeySets } from '../accounts/id-tokens/key-sets.ts'
import type { LoginDeps } from '../accounts/login/custom-login.ts'
import type { PlatformKeys } from '../accounts/providers/issuers.ts'
import type { Webhook } from '../accounts/webhook/webhook.ts'
import type { RateLimits } from '../base/rate-limits/rate-limits.ts'
import type { Secrets } from '../base/secrets.ts'
import type { AuditDenied } from '../callers/access.ts'
import type { PlayerCaller, ServerCaller } from '../callers/callers.ts'
import type { EndedFeed } from '../callers/ended-feed.ts'
import type { Tokens } from '../callers/tokens.ts'
import type { Transact } from '../db/prisma.ts'
import type { Reads } from '../db/replica.ts'
import type { PreviewScenario } from '../game/battlepass/preview.ts'
import type { ReplaySeason } from '../game/battlepass/replay-season.ts'
import type { PreviewBoost } from '../game/boosts/preview-boost.ts'
import type { GameClocks } from '../game/clock/game-clocks.ts'
import type { AlertSender } from '../operations/alerts/send-message.ts'
import type { BeginStorageAnswer } from '../players/storage-answers.ts'
import type { IssuerClient } from '../project/single-sign-on/issuer-client.ts'
import type { Command } from '../transactions/command.ts'
import type { GroupCommit } from '../transactions/group-commit.ts'

/**
 * The dependencies of every call. An edge runs a command: `service.run(addXp(player, input))`. Any other function of a
 * feature gets only the parts that it needs: `searchPlayers(service.operatorPool, search, page)`.
 */
export interface Service {
  /** Runs a command on the engine that it names. Answers after COMMIT. */
  readonly run: GroupCommit['run']
  /**
   * Runs a command of a player or of a game server. Refuses it when the player's login has ended, or the server's key was
   * revoked, by the time of the decision.
   */
  readonly runAs: <Outcome>(caller: PlayerCaller | ServerCaller, command: Command<Outcome>) => Promise<Outcome>
  /** For short reads that the game waits for. */
  readonly pool: Pool
  /** For reads and changes of operators, which can take long or wait for a lock. The game does not wait for this pool. */
  readonly operatorPool: Pool
  /** Runs a change of operators in one transaction. */
  readonly transact: Transact
  /** For lists, figures, exports and previews of operators: a read replica serves them where there is one. */
  readonly reads: Reads

  readonly secrets: Secrets
  readonly webhook: Webhook
  /** Sends a message to an alert webhook, once. */
  readonly sendAlert: AlertSender['send']
  readonly keySets: KeySets
  readonly issuerClient: IssuerClient
  readonly platformKeys: PlatformKeys
  readonly tokens: Tokens
  readonly rateLimits: RateLimits
  /** Tells a game server which logins end. */
  readonly followEnded: EndedFeed['follow']
  /** Logs a failure that does not fail the call. */
  readonly warn: (message: string, detail: unknown) => void
  readonly countLogin: LoginDeps['countLogin']
  /** Resolves once the events of all calls that were answered before are in the environment's stream. */
  readonly settleEvents: (environmentId: string) => Promise<void>
  /** Counts a call of a player of this environment. */
  readonly countCall: (environmentId: string) => void

  /** The clocks of environments for tests, which answers name. */
  readonly gameClocks: GameClocks

  // These five keep track of waiting calls, so they are made once for each service.
  readonly auditDenied: AuditDenied
  /** Begins an answer that carries storage: all of a player's, or some keys. */
  readonly beginStorageAnswer: BeginStorageAnswer
  readonly previewScenario: PreviewScenario
  readonly previewBoost: PreviewBoost
  readonly replaySeason: ReplaySeason
}

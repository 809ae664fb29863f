import { Refusal } from '../../base/errors.ts'
import type { ClientRef, PlayerCaller } from '../../callers/callers.ts'
import { askClient } from '../../callers/keys.ts'
import { toRefusal } from '../../db/failures.ts'
import { addPlayer, askNickname, type NewProfile, Profiles, publishCreated } from '../../players/create-player.ts'
import { askStatus, endAwaiting, requireMayLogIn } from '../../players/player-status.ts'
import { askKeys, bytesOf, hasRoomFor, putValues, TOO_MANY_KEYS } from '../../players/storage.ts'
import type { Command } from '../../transactions/command.ts'
import type { Group } from '../../transactions/group.ts'
import type { Player, PlayerRef } from '../../transactions/player.ts'
import { askProvider } from '../providers/provider-ref.ts'
import type { WebhookAnswer } from '../webhook/webhook-answer.ts'
import { askPolicy } from './account-policy.ts'
import { addIdentity, askOwner, type IdentityRef } from './identities.ts'
import { LastLogins } from './last-logins.ts'
import { explain, type LoginAttempt, LoginLog } from './log/login-log.ts'
import { askDeletion, cancelDeletion } from './planned-deletions.ts'
import { type LoginDetails, RefreshTokens, type Session } from './refresh-tokens.ts'
import { askSessionLimit } from './session-limit.ts'

// The transaction of a login or a link, once a provider has named the subject (contract 3).

/** What the client says of a player that the login may create, and of its device. */
export type LoginInput = Pick<NewProfile, 'nickname' | 'region' | 'language'> & Pick<LoginDetails, 'deviceName'>

/** A provider's statement about a player. A null field stays as it is. */
export type Statement = Pick<WebhookAnswer, 'subject' | 'nickname' | 'avatarUrl' | 'data' | 'claims'>

/** A provider's approval, on the way into a transaction. */
export interface Approval {
  readonly client: ClientRef
  readonly identity: IdentityRef
  readonly answer: Statement
  /** The entry of the login log, without the outcome and the player. */
  readonly attempt: Omit<LoginAttempt, 'outcome' | 'playerId'>
  /** Asks for what the approval itself rests on, under the lock of its subject. */
  readonly ask?: (group: Group) => Proof
}

/** What an approval rests on, once the group no longer waits. */
export interface Proof {
  /** Refuses an approval that has ended, or that was used. */
  require(): void
  /** Marks it as used. */
  use(): void
}

export interface CountDeps {
  /** Called once for each login and link with `ok` or the code that the client receives. */
  readonly countLogin: (operation: LoginAttempt['operation'], result: string) => void
}

/** Counts a login or link by its result. */
export async function counted<T>(
  deps: CountDeps,
  operation: LoginAttempt['operation'],
  work: () => Promise<T>,
): Promise<T> {
  try {
    const result = await work()
    deps.countLogin(operation, 'ok')
    return result
  } catch (error) {
    deps.countLogin(operation, toRefusal(error)?.code ?? 'internal_error')
    throw error
  }
}

/** Asks for a player, with its storage only when there is something to write. */
function askPlayer(group: Group, ref: PlayerRef, { data }: Statement): Player {
  const player = group.player(ref)
  askStatus(player)
  if (data.size > 0) askKeys(player)
  return player
}

/** The same for a login, which cancels the deletion that the player has asked for. */
function askOwnPlayer(group: Group, ref: PlayerRef, answer: Statement): Player {
  const player = askPlayer(group, ref, answer)
  askDeletion(player)
  return player
}

export function logIn(approval: Approval, input: LoginInput): Command<Session> {
  const { identity, answer } = approval
  return {
    engine: 'logins',
    fresh: true,
    bytes: bytesOf(answer.data),
    *decide(group) {
      // The subject is locked before its player, in this order in every group.
      const { owner, approved, policy } = yield* group.rowsFrom(
        () => askOwner(group, identity),
        (ref) => ({
          owner: ref && askOwnPlayer(group, ref, answer),
          approved: askApproval(group, approval),
          policy: askPolicy(group, identity),
        }),
      )
      const limit = owner && (yield* askSessionLimit(group, owner, policy()))
      const imported = owner && askStatus(owner).value?.awaitsLogin ? yield* group.rows(() => askNickname(owner)) : null
      const refusal = refusalOf(() => {
        approved.require()
        // The limits of `data` itself were checked before, and a new player's storage is empty.
        if (!owner) return
        requireMayLogIn(owner)
        requireRoom(owner, answer)
        limit?.require()
      })
      if (refusal) return log(group, approval, owner, refusal)

      approved.use()
      const player = owner ?? createOwner(group, approval, input)
      if (owner) {
        group.of(Profiles).change(owner, { nickname: answer.nickname, avatarUrl: answer.avatarUrl })
        cancelDeletion(owner)
        if (imported) {
          endAwaiting(owner)
          const nickname = answer.nickname ?? imported.value?.nickname ?? null
          publishCreated(group, owner, { nickname, provider: identity.provider })
        }
      }
      putValues(player, answer.data)
      log(group, approval, player)
      group.of(LastLogins).add(player)
      limit?.makeRoom()
      const { claims } = answer
      const { deviceName } = input
      return group.of(RefreshTokens).begin(player, Math.floor(Date.now() / 1000), { claims, deviceName })
    },
  }
}

function createOwner(group: Group, { identity, answer }: Approval, input: LoginInput): Player {
  const { nickname, avatarUrl } = answer
  const { region, language } = input
  const profile = { nickname: nickname ?? input.nickname, avatarUrl, region, language }
  const player = addPlayer(group, identity, profile)
  addIdentity(group, identity, player)
  return player
}

export function linkIdentity(approval: Approval, caller: PlayerCaller): Command<void> {
  const { identity, answer } = approval
  return {
    engine: 'logins',
    fresh: true,
    bytes: bytesOf(answer.data),
    *decide(group) {
      const { owner, player, approved, requireLogin } = yield* group.rowsFrom(
        () => askOwner(group, identity),
        (owner) => ({
          owner,
          player: askPlayer(group, caller, answer),
          approved: askApproval(group, approval),
          requireLogin: group.of(RefreshTokens).askLogin(caller),
        }),
      )
      const refusal = refusalOf(() => {
        approved.require()
        requireMayLogIn(player)
        requireLogin()
        if (owner && owner.playerId !== player.playerId) throw new Refusal('identityAlreadyLinked')
        requireRoom(player, answer)
      })
      if (refusal) return log(group, approval, player, refusal)

      approved.use()
      if (!owner) addIdentity(group, identity, player)
      putValues(player, answer.data)
      log(group, approval, player)
    },
  }
}

/** Asks again for all that the approval rested on, since a webhook can take ten seconds. */
function askApproval(group: Group, { client, attempt, ask }: Approval): Proof {
  const requireClient = askClient(group, client)
  const requireProvider = askProvider(group, attempt)
  const proof = ask?.(group)
  return {
    require() {
      requireClient()
      requireProvider()
      proof?.require()
    },
    use: () => proof?.use(),
  }
}

/** Refuses a player whose storage is full, before anything is changed. */
function requireRoom(player: Player, { data }: Statement): void {
  if (!hasRoomFor(player, data))
    throw new Refusal('customAuthInvalidData', { cause: `data: ${TOO_MANY_KEYS.message}, with those that it has` })
}

function refusalOf(check: () => void): Refusal | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

function log<T extends Refusal | undefined>(
  group: Group,
  { attempt }: Approval,
  player: PlayerRef | undefined,
  refusal?: T,
): T {
  const { cause } = refusal ?? {}
  const attempts = typeof cause === 'string' ? explain(attempt.attempts, { cause }) : attempt.attempts
  group.of(LoginLog).add({ ...attempt, attempts, playerId: player?.playerId ?? null, outcome: refusal?.code ?? 'ok' })
  return refusal as T
}

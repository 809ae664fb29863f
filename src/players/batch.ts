import { allOf } from '../base/all-of.ts'
import { type Fault, REFUSALS, Refusal, type RefusalKind, withUnknownOutcome } from '../base/errors.ts'
import { answer, out } from '../declare/answer.ts'
import type { PlayerRef } from './player-status.ts'

// Calls of game servers for many players: one result for each, in the order of the request.

type TextOf<Kind extends RefusalKind> = (typeof REFUSALS)[Kind][1]

/** The texts of refusals, as the `error` of a result has them. */
export const textsOf = <Kind extends RefusalKind>(kinds: readonly Kind[]): readonly TextOf<Kind>[] =>
  kinds.map((kind) => REFUSALS[kind][1])

/** What is wrong, as the player's own call answers it. */
export const details = out.optional(
  out.list(
    answer(
      'What is wrong.',
      { path: out.text('The member that it concerns; may be empty.'), message: out.text('What is wrong.') },
      { name: 'Detail' },
    ),
    'What the `error` concerns, as in the answer to a call of the player. Absent without any.',
  ),
)

type Details = readonly { readonly [Name in keyof Fault]: string }[]

/** A result, or an error with null for everything else. */
type Result<T, Kind extends RefusalKind> =
  | ({ readonly playerId: string; readonly error: null } & T)
  | ({ readonly playerId: string | null; readonly error: TextOf<Kind>; readonly details?: Details } & {
      readonly [Name in keyof T]: null
    })

interface Batch<T, Kind extends RefusalKind> {
  /** Refusals of one player. Any other one refuses the whole call, which can be repeated. */
  readonly errors: readonly Kind[]
  /** The members of a result without their values. */
  readonly nothing: { readonly [Name in keyof T]: null }
  /** Runs the command of a player: those that wait together are decided in one group. */
  readonly run: (player: PlayerRef, place: number) => Promise<T>
}

/** Runs a command for each of these players. One that the environment does not have is null. */
export async function runForEach<T, Kind extends RefusalKind>(
  players: readonly (PlayerRef | null)[],
  { errors, nothing, run }: Batch<T, Kind>,
): Promise<readonly Result<T, Kind>[]> {
  function refused(playerId: string | null, error: unknown): Result<T, Kind> {
    const kind = error instanceof Refusal ? errors.find((known) => known === error.kind) : undefined
    if (kind === undefined) throw error
    const { faults } = error as Refusal
    return {
      playerId,
      ...nothing,
      error: REFUSALS[kind][1] as TextOf<Kind>,
      ...(faults.length > 0 && { details: faults }),
    }
  }
  return settleAll(
    players.map(async (player, place) => {
      if (!player) return refused(null, new Refusal('playerNotFound'))
      const { playerId } = player
      return run(player, place).then(
        (result) => ({ playerId, ...result, error: null }),
        (error) => refused(playerId, error),
      )
    }),
  )
}

/** The results of commands once all have ended. Throws the first failure, after which others may have taken effect. */
export const settleAll = <T>(commands: readonly Promise<T>[]): Promise<readonly T[]> =>
  allOf(commands).catch((error) => {
    throw withUnknownOutcome(error)
  })

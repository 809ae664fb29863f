import type { Command } from '../transactions/command.ts'
import type { PlayerRef } from '../transactions/player.ts'
import type { Answer } from './answer.ts'
import type { Contract } from './contract.ts'
import type { Fields, RequestOf, Shape } from './shape.ts'

export interface PlayerCall<F extends Fields, Outcome> {
  readonly request: Shape<F>
  /** The name that the field had in the release before. GraphQL has it for one more release, as deprecated. */
  readonly formerly?: string
  /** Its name in the audit log, for attempts by operators. Reads have none. */
  readonly action?: string
  readonly command: (player: PlayerRef, input: RequestOf<Shape<F>>) => Command<Outcome>
}

/** An answer that clients keep by its tag. */
export interface Tagged {
  /** A weak tag: two answers with it say the same. */
  readonly etag: string
  /** The JSON text of the answer. */
  readonly print: () => string
}

/** A call that REST has, too. Its answer is the outcome. */
export interface RestCall<F extends Fields, Outcome> extends PlayerCall<F, Outcome> {
  readonly contract: Contract & { readonly answer: Answer<Outcome> | null }
}

export function playerCall<F extends Fields, Outcome>(call: RestCall<F, Outcome>): RestCall<F, Outcome>
export function playerCall<F extends Fields, Outcome>(call: PlayerCall<F, Outcome>): PlayerCall<F, Outcome>
export function playerCall<F extends Fields, Outcome>(call: PlayerCall<F, Outcome>): PlayerCall<F, Outcome> {
  return call
}

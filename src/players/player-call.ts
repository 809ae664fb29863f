import type { Fields, RequestOf, Shape } from '../request/shape.ts'
import type { Command } from '../transactions/command.ts'
import type { PlayerRef } from '../transactions/player.ts'

/** A player's call, for REST and GraphQL. */
export interface PlayerCall<F extends Fields, Outcome> {
  readonly request: Shape<F>
  /** Its name in the audit log, for attempts by operators. Reads have none. */
  readonly action?: string
  readonly command: (player: PlayerRef, input: RequestOf<Shape<F>>) => Command<Outcome>
}

export const playerCall = <F extends Fields, Outcome>(call: PlayerCall<F, Outcome>): PlayerCall<F, Outcome> => call

import { ACTIONS } from '../audit/actions.ts'
import { playerCall } from '../declare/player-call.ts'
import type { RequestOf } from '../declare/shape.ts'
import type { Command } from '../transactions/command.ts'
import type { PlayerRef } from '../transactions/player.ts'
import { Profiles } from './create-player.ts'
import { admitActive } from './player-status.ts'
import { playerUpdateRequest } from './requests.ts'

/** Changes what a player says of itself. Fields that are null stay as they are. */
export function updatePlayer(ref: PlayerRef, profile: RequestOf<typeof playerUpdateRequest>): Command<void> {
  return {
    engine: 'logins',
    player: ref,
    fresh: true,
    *decide(group) {
      const player = yield* admitActive(group, ref)
      group.of(Profiles).change(player, profile)
    },
  }
}

export const updatePlayerCall = playerCall({
  request: playerUpdateRequest,
  action: ACTIONS.updatePlayer,
  command: updatePlayer,
  contract: {
    id: 'updatePlayer',
    tag: 'Player',
    summary: 'Change the nickname, region and language of the calling player. A field that is absent or null stays.',
    answer: null,
  },
})

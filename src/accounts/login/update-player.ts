import { ACTIONS } from '../../audit/actions.ts'
import { Refusal } from '../../base/errors.ts'
import { playerCall } from '../../declare/player-call.ts'
import type { RequestOf } from '../../declare/shape.ts'
import { Profiles } from '../../players/create-player.ts'
import { askStatus, requireActive } from '../../players/player-status.ts'
import { playerUpdateRequest } from '../../players/requests.ts'
import type { Command } from '../../transactions/command.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { askSignIn } from '../providers/provider-ref.ts'
import { askPolicy } from './account-policy.ts'

/** Changes what a player says of itself, where its environment allows it. Fields that are null stay as they are. */
export function updatePlayer(ref: PlayerRef, profile: RequestOf<typeof playerUpdateRequest>): Command<void> {
  return {
    engine: 'logins',
    player: ref,
    fresh: true,
    *decide(group) {
      const { player, policy, hasSignIn } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        return { player, policy: askPolicy(group, ref), hasSignIn: askSignIn(group, ref) }
      })
      requireActive(player)
      const { clientProfile } = policy()
      if (clientProfile === 'refuse' || (clientProfile === 'auto' && !hasSignIn()))
        throw new Refusal('profileNotAllowed')
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
    summary:
      'Change the nickname, region and language of the calling player, where the environment lets clients do so. A field that is absent or null stays.',
    answer: null,
    refusals: ['profileNotAllowed'],
  },
})

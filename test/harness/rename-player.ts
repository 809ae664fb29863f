import { MAX_NAME } from '../../src/base/limits.ts'
import { type AnswerOf, answer, out } from '../../src/declare/answer.ts'
import { playerCall } from '../../src/declare/player-call.ts'
import { type RequestOf, shape, text } from '../../src/declare/shape.ts'
import { Profiles } from '../../src/players/create-player.ts'
import { admitActive } from '../../src/players/player-status.ts'
import type { Command } from '../../src/transactions/command.ts'
import type { PlayerRef } from '../../src/transactions/player.ts'

// The endpoint of CONTRIBUTING.md, verbatim.

const example = { nickname: 'Ada' }

export const renameRequest = shape(
  { nickname: text('What the player is called.', { max: MAX_NAME }) },
  { name: 'RenameRequest', example },
)
export const renameAnswer = answer(
  'The name that the player has now.',
  { nickname: out.text('What the player is called.') },
  { name: 'RenameResponse', example },
)

export function rename(
  ref: PlayerRef,
  { nickname }: RequestOf<typeof renameRequest>,
): Command<AnswerOf<typeof renameAnswer>> {
  return {
    player: ref,
    fresh: true,
    *decide(group) {
      const player = yield* admitActive(group, ref)
      group.of(Profiles).change(player, { nickname, avatarUrl: null })
      return { nickname }
    },
  }
}

export const renameCall = playerCall({
  request: renameRequest,
  action: 'player.rename',
  command: rename,
  contract: { id: 'renamePlayer', tag: 'Player', summary: 'Rename the calling player.', answer: renameAnswer },
})

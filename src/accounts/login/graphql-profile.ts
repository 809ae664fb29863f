import { requirePlayer } from '../../callers/access.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { inputOf } from '../../declare/graphql/shapes.ts'
import type { PlayerRef } from '../../players/player-status.ts'
import { playerUpdateRequest } from '../../players/requests.ts'
import { updatePlayer, updatePlayerCall } from './update-player.ts'

const UpdateProfilePayload = builder.objectRef<PlayerRef>('UpdateProfilePayload').implement({
  fields: (t) => ({
    player: t.prismaField({
      type: 'Player',
      description: 'The player after the change.',
      resolve: (query, { environmentId, playerId: id }, _args, { prisma }) =>
        prisma.player.findUniqueOrThrow({ ...query, where: { environmentId_id: { environmentId, id } } }),
    }),
  }),
})

builder.mutationField('updateProfile', (t) =>
  t.field({
    type: UpdateProfilePayload,
    description:
      'Changes the nickname, region and language of the calling player, where the environment lets clients do so. A field that is absent or null stays.',
    args: inputOf('UpdateProfileInput', playerUpdateRequest),
    resolve: async (_root, { input }, context) => {
      const player = await requirePlayer(context, updatePlayerCall.action)
      await context.service.runAs(player, updatePlayer(player, playerUpdateRequest.readInput(input)))
      return player
    },
  }),
)

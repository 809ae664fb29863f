import { objectText, RawJson } from '../base/json.ts'
import { answer, out } from '../declare/answer.ts'
import { readCall, serverCall } from '../declare/route.ts'
import { findTarget, identityRequest } from './player-target.ts'
import { playerAnswer, readPlayer } from './read-player.ts'
import { EXAMPLE_VALUES, playerRequest, storageGetRequest } from './requests.ts'

export const readPlayerCall = readCall({
  request: playerRequest,
  contract: {
    id: 'readPlayer',
    tag: 'Player',
    summary: 'Read the calling player, with wallet, inventory and identities.',
    answer: playerAnswer,
  },
  run: ({ caller, service }) => readPlayer(service.pool, caller),
})

const storageValues = answer(
  'Stored values.',
  { values: out.object('Values by key, byte for byte as they were written.') },
  { name: 'StorageValues', example: { values: EXAMPLE_VALUES } },
)

export const readStorageCall = readCall({
  request: storageGetRequest,
  contract: {
    id: 'readStorage',
    tag: 'Player',
    summary: "Read the player's storage.",
    answer: storageValues,
    refusals: ['storageLimitExceeded'],
  },
  run: async ({ caller, input, service, closed }) => {
    const stored = await service.beginStorageAnswer(caller.playerId, closed).read(caller, input.keys)
    return { values: new RawJson(objectText([...stored].map(([key, { value }]) => [key, value]))) }
  },
})

export const findPlayerCall = serverCall({
  request: identityRequest,
  contract: {
    id: 'findPlayer',
    tag: 'Game servers',
    summary: 'Find a player by an identity, and read it with wallet, inventory and identities.',
    answer: playerAnswer,
    refusals: ['playerNotFound', 'playerBanned', 'playerDeleted'],
  },
  run: async ({ caller, input, service: { pool } }) =>
    readPlayer(pool, await findTarget(pool, caller.environmentId, { playerId: null, ...input })),
})

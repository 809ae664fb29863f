import type { PlayerHandler } from '../http/route.ts'
import { objectText, RawJson } from '../json.ts'
import { readPlayer } from './read-player.ts'
import { deleteStorage, setStorage } from './storage.ts'
import { readKeys, readOptionalKeys, readStorageValues } from './wire.ts'

/** POST /sdk/v1/storage/get: values by key, byte for byte as they were written. */
export const postStorageGet: PlayerHandler = async ({ caller, fields, service, closed }) => {
  const answer = service.beginStorageAnswer(caller.playerId, closed)
  const stored = await answer.read(caller, fields.read(readOptionalKeys))
  const texts = [...stored].map(([key, { value }]): [string, string] => [key, value])
  return { values: new RawJson(objectText(texts)) }
}

/** POST /sdk/v1/storage/set: merges values, all or nothing. */
export const postStorageSet: PlayerHandler = async ({ caller, fields, service }) => {
  await service.run(setStorage(caller, fields.read(readStorageValues)))
}

/** POST /sdk/v1/storage/delete: removes keys. */
export const postStorageDelete: PlayerHandler = async ({ caller, fields, service }) => {
  await service.run(deleteStorage(caller, fields.read(readKeys)))
}

/** POST /sdk/v1/player/get: the player, with what it holds. */
export const postPlayerGet: PlayerHandler = async ({ caller, service }) => readPlayer(service.pool, caller)

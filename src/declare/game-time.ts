import type { Service } from '../app/service.ts'
import type { Access } from '../callers/access.ts'

/** The header of answers to callers of an environment whose game's time is not the real one. */
const GAME_TIME = 'tierway-game-time'
export const NO_HEADERS: readonly string[] = []

/** The header with its value, for a caller that was found. Nothing where the time is the real one, as in production. */
export function gameTimeHeader(
  clocks: Service['gameClocks'],
  access: Pick<Access, 'found'> | undefined,
): readonly string[] {
  if (clocks.isEmpty) return NO_HEADERS
  const found = access?.found()
  const text = found && 'environmentId' in found ? clocks.textOf(found.environmentId) : undefined
  return text === undefined ? NO_HEADERS : [GAME_TIME, text]
}

import type { Service } from '../app/service.ts'
import type { Access } from '../callers/access.ts'

/** The header of answers to callers of an environment whose game's time is not the real one. */
export const GAME_TIME = 'tierway-game-time'

/** The header with its value, for a caller that was found. Nothing where the time is the real one, as in production. */
export function gameTimeHeader(
  clocks: Service['gameClocks'],
  access: Pick<Access, 'found'> | undefined,
): readonly string[] {
  if (clocks.isEmpty) return NOTHING
  const found = access?.found()
  const text = found && 'environmentId' in found ? clocks.textOf(found.environmentId) : undefined
  return text === undefined ? NOTHING : [GAME_TIME, text]
}

const NOTHING: readonly string[] = []

import type { ClientBase } from 'pg'
import { invalidRequest } from '../../base/errors.ts'
import { type GameClock, gameTimeAt } from '../../base/game-clock.ts'
import { isProduction, MAX_CLOCK_RATE } from '../../base/limits.ts'
import type { Change } from '../../declare/change.ts'
import { environment, reason } from '../../declare/common.ts'
import { type Check, int32, moment, optional, type RequestOf, shape } from '../../declare/shape.ts'
import { writeBoosts } from '../boosts/stored.ts'
import { CLOCK_COLUMNS, type ClockColumns, clockOf, gameNow, writeClock } from '../clock/game-clock.ts'
import { lockSeasons } from '../clock/lock-seasons.ts'

export const setClockRequest = shape({
  environment,
  at: optional(
    moment(
      "The game's time from now on. Null: it continues from the present one. Null together with `rate`: the real time.",
    ),
  ),
  rate: optional(
    int32(`How many times as fast as the real time the game's time runs: 1 to ${MAX_CLOCK_RATE}. Default: 1.`, {
      min: 1,
      max: MAX_CLOCK_RATE,
    }),
  ),
  reason,
})
export type SetClock = RequestOf<typeof setClockRequest>

export const checkAt: Check<{ readonly at: Date | null }> = ({ at }) =>
  at !== null && at.getTime() < 0 ? [{ path: 'at', message: 'must not be before 1970' }] : []

/**
 * Sets the clock of an environment, and writes it beside its scenarios: once it is answered, no call is decided by the
 * clock before. A boost that is to come again counts again, and a settlement that is to come again begins anew then.
 * Refuses an environment of real players. Nothing changes when the clock was the real one and stays so.
 */
export async function setClock(
  client: ClientBase,
  { environmentId, environment, at, rate }: SetClock & { readonly environmentId: string },
): Promise<Change<{ readonly environment: string }>> {
  await lockSeasons(client)
  const { rows } = await client.query<ClockColumns & { readonly real: Date }>(
    `SELECT ${CLOCK_COLUMNS}, clock_timestamp()::timestamptz(3) AS real FROM environments WHERE id = $1`,
    [environmentId],
  )
  const [row] = rows
  if (!row) throw new Error(`there is no environment ${environmentId}`)
  if (isProduction(environment))
    throw invalidRequest({ path: 'environment', message: 'has real players, whose clock is the real one' })
  const before = clockOf(row)
  const real = row.real.getTime()
  const after: GameClock | null =
    at === null && rate === null
      ? null
      : { at: at?.getTime() ?? gameTimeAt(before, real), setAt: real, rate: rate ?? 1 }
  const outcome = { environment: environmentId }
  if (before === null && after === null) return { outcome }
  await client.query('UPDATE environments SET clock_at = $2, clock_set_at = $3, clock_rate = $4 WHERE id = $1', [
    environmentId,
    after && new Date(after.at),
    after && new Date(after.setAt),
    after?.rate ?? null,
  ])
  await writeClock(client, environmentId)
  await writeBoosts(client, environmentId)
  await client.query(REOPEN, [environmentId])
  return { outcome, target: environment, before: shown(before, real), after: shown(after, real) }
}

/** What was settled stays so. Players who earn more until the time comes again are settled then. */
const REOPEN = `UPDATE season_settlements s SET after_level = NULL, after_player = NULL, holder = NULL, finished_at = NULL
  FROM environments e WHERE e.id = $1 AND s.environment_id = $1 AND s.due_at > ${gameNow('e')}`

/** A clock as the audit log has it: the game's time at the change. */
const shown = (clock: GameClock | null, real: number) =>
  clock && { now: new Date(gameTimeAt(clock, real)).toISOString(), rate: clock.rate }

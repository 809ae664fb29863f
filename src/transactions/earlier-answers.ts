import { thaw } from '../base/frozen-json.ts'
import { type Json, RawJson } from '../base/json.ts'

/** Reads a stored answer. Earlier versions stored boosts in `granted`; they stand in `boosts` beside it. */
export const withBoostsApart = (stored: string): Json =>
  stored.includes('"boost":{') ? moved(thaw(stored)) : thaw(stored)

function moved(value: Json): Json {
  if (typeof value !== 'object' || value === null || value instanceof RawJson) return value
  if (Array.isArray(value)) return value.map(moved)
  const members = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, member === undefined ? member : moved(member)]),
  )
  const { granted } = members
  if (!Array.isArray(granted)) return members
  const boosts = granted.flatMap((reward: Json) => boostOf(reward) ?? [])
  return boosts.length === 0 ? members : { ...members, granted: granted.filter((reward) => !boostOf(reward)), boosts }
}

const boostOf = (reward: Json): Json | undefined =>
  typeof reward === 'object' && reward !== null && 'boost' in reward ? reward.boost : undefined

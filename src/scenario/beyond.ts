import { MAX_INT64 } from '../base/json.ts'
import { MAX_BONUS_TIERS } from '../base/limits.ts'
import type { Beyond, BonusTiers, XpConversion } from './definition.ts'
import type { RawValue, Reader } from './definition-reader.ts'
import { readAsset, readOffer } from './definition-rewards.ts'

// What xp above the top level of a pass brings: `data.beyond`. Pure.

const OF_TIERS = ['every', 'rewards', 'max', 'perDay'] as const

/** Reads `data.beyond`; null when it is absent. */
export function readBeyond(reader: Reader, source: RawValue): Beyond | null {
  if (source.raw === undefined) return null
  const member = reader.object(source, [...OF_TIERS, 'convert'])
  const convert = member('convert')
  const hasTiers = OF_TIERS.some((name) => member(name).raw !== undefined)
  const hasConversion = convert.raw !== undefined
  if (hasTiers === hasConversion && !convert.isMoot)
    reader.fault(source.path, 'must have either every and rewards, or convert')
  const conversion = hasConversion ? readConversion(reader, convert) : null
  return hasTiers ? readTiers(reader, member) : conversion
}

function readTiers(reader: Reader, member: (name: string) => RawValue): BonusTiers {
  const count = (name: string): number | null => {
    const value = member(name).raw === undefined ? undefined : reader.integer(member(name), 1n, BigInt(MAX_BONUS_TIERS))
    return value === undefined ? null : Number(value)
  }
  return {
    kind: 'tiers',
    every: reader.integer(member('every'), 1n, MAX_INT64) ?? 1n,
    ...readOffer(reader, member('rewards'), 1),
    max: count('max') ?? MAX_BONUS_TIERS,
    perDay: count('perDay'),
  }
}

function readConversion(reader: Reader, source: RawValue): XpConversion {
  const member = reader.object(source, ['currency', 'per'])
  return {
    kind: 'conversion',
    currency: readAsset(reader, member('currency')),
    per: reader.integer(member('per'), 1n, MAX_INT64) ?? 1n,
  }
}

import { kindOf, MAX_INT64 } from '../base/json.ts'
import { MAX_ASSET, MAX_REWARDS } from '../base/limits.ts'
import type { Reward } from './definition.ts'
import type { RawValue, Reader } from './definition-reader.ts'

/** A list of rewards, each a currency or an item. */
export function readRewards(reader: Reader, source: RawValue, min = 1): Reward[] {
  return reader.list(source, { min, max: MAX_REWARDS }).map((entry) => {
    const reward = reader.object(entry, ['currency', 'itemId', 'amount'])
    const currency = reward('currency')
    const itemId = reward('itemId')
    const amount = reader.integer(reward('amount'), 1n, MAX_INT64) ?? 1n
    if ((currency.raw === undefined) === (itemId.raw === undefined)) {
      if (entry.raw !== undefined && kindOf(entry.raw) === 'object')
        reader.fault(entry.path, 'must have exactly one of currency and itemId')
      return { currency: null, itemId: null, amount }
    }
    return {
      currency: currency.raw === undefined ? null : readAsset(reader, currency),
      itemId: itemId.raw === undefined ? null : readAsset(reader, itemId),
      amount,
    }
  })
}

/** The name of a currency or an item. */
export function readAsset(reader: Reader, source: RawValue): string {
  const name = reader.text(source, MAX_ASSET)
  reader.blankNotice(source.path, name)
  return name
}

import { MAX_ASSET } from '../../base/limits.ts'
import { environment, reason } from '../../declare/common.ts'
import { described, int64, optional, shape, text } from '../../declare/shape.ts'

export const currency = text('A currency, as scenarios and prices name it.', { max: MAX_ASSET })

export const assetsRequest = shape({ environment })
export const addCurrencyRequest = shape({
  environment,
  currency: described(currency, 'The name of the currency, as in wallets.'),
  reason,
})
export const deleteCurrencyRequest = shape({ environment, currency, reason })
export const creditLimitRequest = shape({
  environment,
  currency,
  limit: optional(
    int64(
      'The largest amount that an operator can credit in one call; only admins credit more. With 0, only admins credit at all. Null removes the limit.',
      { min: 0n },
    ),
  ),
  reason,
})

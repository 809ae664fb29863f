import { out } from '../../declare/answer.ts'
import type { Change } from '../../declare/change.ts'
import { type Asking, operatorChange, payload } from '../../declare/operator-call.ts'
import { addCurrency, type Currency, deleteCurrency, findCurrency, setCreditLimit } from './currencies.ts'
import { addCurrencyRequest, creditLimitRequest, deleteCurrencyRequest } from './requests.ts'

interface Asked {
  readonly environment: string
  readonly environmentId: string
  readonly currency: string
}

const currency = out.orNull(
  out.later<(Currency & { readonly environment: string }) | null>('Currency'),
  'The currency after the change. Null when the environment no longer knows it.',
)

/** A change with the currency as it is afterwards. */
const shown = (change: Change<null>, { service }: Asking, { environment, environmentId, currency: name }: Asked) => ({
  ...change,
  outcome: {
    currency: async () => {
      const found = await findCurrency(service.operatorPool, environmentId, name)
      return found && { environment, ...found }
    },
  },
})

export const catalogueCalls = [
  operatorChange({
    name: 'addCurrency',
    summary: 'Adds a currency that no scenario names, so that operators can credit it.',
    request: addCurrencyRequest,
    answer: payload('AddCurrencyPayload', { currency }),
    right: 'design',
    action: 'currency.add',
    title: 'Add a currency',
    target: 'currency',
    change: async (changing, asked) => shown(await addCurrency(changing, asked), changing, asked),
  }),
  operatorChange({
    name: 'deleteCurrency',
    formerly: 'removeCurrency',
    summary: 'Reverts `addCurrency`. Balances and the credit limit stay; a currency of a scenario stays known.',
    request: deleteCurrencyRequest,
    answer: payload('DeleteCurrencyPayload', { currency }),
    right: 'design',
    action: 'currency.remove',
    title: 'Delete a currency',
    target: 'currency',
    change: async (changing, asked) => shown(await deleteCurrency(changing, asked), changing, asked),
  }),
  operatorChange({
    name: 'setCreditLimit',
    summary: 'Sets the largest amount of a currency that an operator can credit in one call.',
    request: creditLimitRequest,
    answer: payload('SetCreditLimitPayload', { currency }),
    right: 'manage',
    action: 'currency.set_credit_limit',
    title: 'Limit credits of a currency',
    target: 'currency',
    change: async (changing, asked) => shown(await setCreditLimit(changing, asked), changing, asked),
  }),
]

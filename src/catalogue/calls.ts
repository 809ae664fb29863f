import { out } from '../declare/answer.ts'
import { operatorChange, payload } from '../declare/operator-call.ts'
import { addCurrency, type Currency, removeCurrency, setCreditLimit } from './currencies.ts'
import { addCurrencyRequest, creditLimitRequest, removeCurrencyRequest } from './requests.ts'

const currency = out.orNull(
  out.ofType<Currency & { readonly environment: string }>('Currency'),
  'The currency after the change. Null when the environment no longer knows it.',
)

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
    change: ({ client }, asked) => addCurrency(client, asked),
  }),
  operatorChange({
    name: 'removeCurrency',
    summary: 'Reverts `addCurrency`. Balances and the credit limit stay; a currency of a scenario stays known.',
    request: removeCurrencyRequest,
    answer: payload('RemoveCurrencyPayload', { currency }),
    right: 'design',
    action: 'currency.remove',
    title: 'Remove a currency',
    target: 'currency',
    change: ({ client }, asked) => removeCurrency(client, asked),
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
    change: ({ client }, asked) => setCreditLimit(client, asked),
  }),
]

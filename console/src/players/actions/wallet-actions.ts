import { MAX_INT64, number } from '../../ui/words.ts'
import { creditWalletMutation, debitWalletMutation } from './operations.ts'
import type { PlayerData, SupportAction } from './support-action.ts'

const CREDIT_NEW = 'Credit it even if no scenario names this currency'

/** A currency of the environment, and the most that an operator may credit at once. */
export interface KnownCurrency {
  readonly name: string
  readonly creditLimit: string | null
}

/** `known` is undefined when the page could not read the currencies. `most` is the limit of the person's role. */
export function creditAction(
  player: PlayerData,
  known: readonly KnownCurrency[] | undefined,
  most: string | null,
): SupportAction {
  const balanceOf = balances(player)
  return {
    title: 'Credit the wallet',
    fields: [
      {
        name: 'currency',
        label: 'Currency',
        kind: 'text',
        suggestions: known?.map(({ name }) => name),
        hint: known
          ? `Known here: ${known.map(({ name }) => name).join(', ') || 'none'}.`
          : 'The page could not read which currencies and credit limits there are.',
      },
      { name: 'amount', label: 'Amount', kind: 'amount' },
      {
        name: 'allowNew',
        label: CREDIT_NEW,
        kind: 'check',
      },
    ],
    initial: { currency: '', amount: '', allowNew: '' },
    effect({ currency: typed = '', amount = '0' }) {
      const currency = typed.trim()
      const before = balanceOf(currency)
      const after = BigInt(before) + BigInt(amount)
      if (after > MAX_INT64)
        return `The balance of ${currency} is ${number(before)}, and may be at most ${number(MAX_INT64)}: this will be refused.`
      const limit = lowest(known?.find(({ name }) => name === currency)?.creditLimit ?? null, most)
      const over = limit !== null && BigInt(amount) > BigInt(limit)
      const isNew = known?.every(({ name }) => name !== currency)
      return [
        `${currency}: ${number(before)} → ${number(after)}.`,
        limit === null
          ? ''
          : over
            ? `More than ${number(limit)} at once needs the role admin.`
            : `At most ${number(limit)} at once without the role admin.`,
        isNew ? 'No scenario names this currency: check its spelling.' : '',
      ].join(' ')
    },
    confirm: 'Credit',
    mutation: creditWalletMutation,
    input: ({ currency = '', amount, allowNew }) => ({
      currency: currency.trim(),
      amount,
      allowNew: allowNew === 'true',
    }),
    refusals: {
      UNKNOWN_CURRENCY: ({ currency }, { nearest = [] }) =>
        `No scenario names the currency ${currency}.${nearest.length > 0 ? ` Similar ones are ${nearest.join(', ')}.` : ''} Correct it, or tick “${CREDIT_NEW}”.`,
    },
    done: ({ currency, amount = '0' }) => `${number(amount)} ${currency} credited.`,
  }
}

export function debitAction(player: PlayerData): SupportAction {
  const balanceOf = balances(player)
  return {
    title: 'Debit the wallet',
    fields: [
      {
        name: 'currency',
        label: 'Currency',
        kind: 'choice',
        options: player.wallet.map((one) => [one.currency, `${one.currency}: ${number(one.balance)}`]),
      },
      { name: 'amount', label: 'Amount', kind: 'amount' },
    ],
    initial: { currency: player.wallet[0]?.currency ?? '', amount: '' },
    effect({ currency = '', amount = '0' }) {
      const before = BigInt(balanceOf(currency))
      const after = before - BigInt(amount)
      return after < 0n
        ? `The balance is ${number(String(before))} ${currency}: this will be refused.`
        : `${currency}: ${number(String(before))} → ${number(String(after))}.`
    },
    confirm: 'Debit',
    tone: 'danger',
    mutation: debitWalletMutation,
    input: ({ currency, amount }) => ({ currency, amount }),
    done: ({ currency, amount = '0' }) => `${number(amount)} ${currency} debited.`,
  }
}

const balances =
  ({ wallet }: PlayerData) =>
  (currency: string): string =>
    wallet.find((one) => one.currency === currency)?.balance ?? '0'

const lowest = (one: string | null, other: string | null): string | null =>
  one === null || (other !== null && BigInt(other) < BigInt(one)) ? other : one

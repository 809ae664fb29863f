import { MAX_ASSET, MAX_REFERENCE } from '../../base/limits.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { requiredKey } from '../../declare/common.ts'
import { serverCall } from '../../declare/route.ts'
import { flag, int64, optional, type RequestOf, shape, text } from '../../declare/shape.ts'
import { admitActive, askStatus, requireActive } from '../../players/player-status.ts'
import { findTarget, playerTarget } from '../../players/player-target.ts'
import type { Command } from '../../transactions/command.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import { type CreditRules, readCreditRules, requireCredit } from './currencies.ts'
import { askWallet, balanceAfter, move } from './holdings.ts'

const moveShape = {
  player: playerTarget,
  currency: text('The currency.', { max: MAX_ASSET }),
  amount: int64('The amount: 1 or more.', { min: 1n }),
  reference: optional(
    text('Your own reference, such as the id of a purchase. The ledger keeps it.', { max: MAX_REFERENCE }),
  ),
  idempotencyKey: requiredKey,
}
const example = {
  player: { provider: 'custom', subject: 'player-1' },
  currency: 'gold',
  amount: 50,
  reference: 'tournament-3',
  idempotencyKey: 'tournament-3/player-1',
}
const grantMoneyRequest = shape(
  {
    ...moveShape,
    allowNew: optional(
      flag('Whether the currency may be one that the environment does not know. Default: false.'),
      false,
    ),
  },
  { name: 'WalletGrantRequest', example },
)
const spendMoneyRequest = shape(moveShape, { name: 'WalletSpendRequest', example })
type MoveMoney = RequestOf<typeof spendMoneyRequest>

const balanceAnswer = answer(
  'The balance after the change. A call that is repeated with its idempotency key answers the same.',
  {
    playerId: out.text('The player.'),
    currency: out.text('The currency.'),
    balance: out.int64('The balance.'),
  },
  {
    name: 'WalletResponse',
    example: { playerId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e21', currency: 'gold', balance: 150 },
  },
)
type Balance = AnswerOf<typeof balanceAnswer>

/** Grants an amount of a currency, by the rules of credits. */
const grantMoney = (
  ref: PlayerRef,
  { allowNew, ...input }: RequestOf<typeof grantMoneyRequest>,
  rules: CreditRules,
): Command<Balance> =>
  moveMoney(ref, input, {
    operation: 'server.grant',
    amount: input.amount,
    check: () => requireCredit(rules, { ...input, allowNew }),
  })

/** Spends an amount of a currency. Refuses an amount above the balance. */
const spendMoney = (ref: PlayerRef, input: MoveMoney): Command<Balance> =>
  moveMoney(ref, input, { operation: 'server.spend', amount: -input.amount })

interface Move {
  readonly operation: 'server.grant' | 'server.spend'
  /** Negative for what is spent. */
  readonly amount: bigint
  /** Refuses what must not be moved. */
  readonly check?: () => void
}

function moveMoney(
  ref: PlayerRef,
  { currency, amount: sent, reference, idempotencyKey: key }: MoveMoney,
  { operation, amount, check }: Move,
): Command<Balance> {
  const { playerId } = ref
  return {
    player: ref,
    once: {
      operation,
      key,
      request: { currency, amount: sent, reference },
      admit: (group) => admitActive(group, ref),
    },
    *decide(group) {
      const player = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        askWallet(player)
        return player
      })
      requireActive(player)
      check?.()
      const balance = balanceAfter(player, currency, amount)
      const reason = operation === 'server.grant' ? 'server_grant' : 'server_spend'
      move(group, player, currency, amount, { reason, reference: reference ?? '' })
      return { playerId, currency, balance }
    },
  }
}

const contract = { tag: 'Game servers', answer: balanceAnswer } as const

export const grantMoneyCall = serverCall({
  request: grantMoneyRequest,
  contract: {
    ...contract,
    id: 'grantMoney',
    summary: 'Grant an amount of a currency to a player.',
    refusals: [
      'playerNotFound',
      'unknownCurrency',
      'creditLimitExceeded',
      'balanceLimitExceeded',
      'idempotencyKeyReused',
    ],
  },
  async run({ caller, input, service }) {
    const { environmentId } = caller
    const [player, rules] = await Promise.all([
      findTarget(service.pool, environmentId, input.player),
      readCreditRules(service.pool, environmentId, input.currency),
    ])
    return service.runAs(caller, grantMoney(player, input, rules))
  },
})

export const spendMoneyCall = serverCall({
  request: spendMoneyRequest,
  contract: {
    ...contract,
    id: 'spendMoney',
    summary: "Spend an amount of a player's currency.",
    refusals: ['playerNotFound', 'insufficientFunds', 'idempotencyKeyReused'],
  },
  run: async ({ caller, input, service }) =>
    service.runAs(caller, spendMoney(await findTarget(service.pool, caller.environmentId, input.player), input)),
})

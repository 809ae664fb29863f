import { Refusal } from '../../base/errors.ts'
import type { MessageTexts } from '../../base/languages.ts'
import { granted, type Reward } from '../../game/definition/definition.ts'
import { cancel, deliver, hasRoom } from '../../game/inbox/deliver.ts'
import { askInbox, askMessage } from '../../game/inbox/messages.ts'
import { type CreditRules, requireCredit } from '../../game/wallet/currencies.ts'
import type { Command } from '../../transactions/command.ts'
import { act, type Changed, type KeyedCall, type Recorded, type SupportCall } from './support-action.ts'

export interface Sent extends Recorded {
  readonly messageId: string
}

export interface MessageInput {
  readonly text: MessageTexts | null
  readonly image: string | null
  readonly rewards: readonly Reward[]
  readonly expiresInDays: number
  /** Also currencies that the environment does not know yet. */
  readonly allowNew: boolean
}

/** The rules of credits by currency. */
export type RulesOfCurrencies = ReadonlyMap<string, CreditRules>

const DAY_MS = 86_400_000

/**
 * Sends a message to a player. Its currencies follow the rules of credits, each with its amount in all. Refuses a full
 * inbox.
 */
export function sendMessage(call: KeyedCall, input: MessageInput, rules: RulesOfCurrencies): Command<Sent> {
  const { text, image, rewards, expiresInDays, allowNew } = input
  const shown = rewards.map(granted)
  return act(call, {
    name: 'send_message',
    request: { text: text as never, image, rewards: shown, expiresInDays },
    ask: (player) => {
      askInbox(player)
    },
    decide(player, group, { auditId }) {
      for (const [currency, { amount, path }] of sumsOf(rewards)) {
        const rule = rules.get(currency)
        if (rule) requireCredit(rule, { currency, amount, allowNew }, path)
      }
      if (!hasRoom(group, player)) throw new Refusal('inboxFull')
      const expiresAt = new Date(group.now.getTime() + expiresInDays * DAY_MS)
      const message = { kind: 'message', text, image, rewards, reference: `support/${auditId}`, expiresAt } as const
      const { messageId } = deliver(group, player, message)
      // The text and the picture are not in the log, which is kept when the player is deleted.
      const after = {
        messageId,
        rewards: shown,
        languages: Object.keys(text ?? {}),
        expiresAt: expiresAt.toISOString(),
      }
      return { outcome: { messageId }, before: null, after }
    },
  })
}

/** The amount of each currency in all, with the path of its first reward. */
function sumsOf(rewards: readonly Reward[]): Map<string, { readonly amount: bigint; readonly path: string }> {
  const sums = new Map<string, { readonly amount: bigint; readonly path: string }>()
  for (const [index, { currency, amount }] of rewards.entries()) {
    if (currency === null) continue
    const { amount: before, path } = sums.get(currency) ?? { amount: 0n, path: `rewards[${index}].` }
    sums.set(currency, { amount: before + amount, path })
  }
  return sums
}

/** Cancels a message that was not claimed. Nothing changes when it was claimed or is not there. */
export function cancelMessage(call: SupportCall, { messageId }: { readonly messageId: string }): Command<Changed> {
  return act(call, {
    name: 'withdraw_message',
    request: { messageId },
    ask: (player) => {
      askInbox(player)
      return askMessage(player, messageId)
    },
    decide(player, group, { asked }) {
      const { rewards = [] } = asked.value ?? {}
      const changed = cancel(group, player, messageId)
      return {
        outcome: { changed },
        before: changed ? { messageId, rewards: rewards.map(granted) } : null,
        after: null,
      }
    },
  })
}

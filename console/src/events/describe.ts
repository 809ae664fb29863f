import type { GameEvent } from './feed.ts'

type Data = Readonly<Record<string, unknown>>

/** An event in words, such as `Level 4 → 5 (source: match)`. */
export function describeEvent({ type, handle, nodeId, data, byClient }: GameEvent): string {
  const values = (typeof data === 'object' && data !== null ? data : {}) as Data
  if (type === 'PLAYER_CREATED') return `New player${text(values.nickname) ? ` ${text(values.nickname)}` : ''}`
  if (type === 'RUN_CANCELLED') return `Run cancelled: ${text(values.cause)?.replaceAll('_', ' ') ?? 'no cause known'}`
  switch (handle) {
    case 'onLevelUp':
      return `Level ${text(values.fromLevel)} → ${text(values.toLevel)}${source(values)}`
    case 'onMaxLevel':
      return `Top level ${text(values.level)} reached${source(values)}`
    case 'onPremiumPurchase': {
      const price = values.price as Data | undefined
      return `Premium bought${price ? ` for ${text(price.amount)} ${text(price.currency)}` : ''}`
    }
    case 'onComplete':
      return `${nodeId} completed`
    default:
      return `${nodeId}: ${handle}${byClient ? ' (said by the client)' : ''}`
  }
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined

const source = (values: Data): string => (text(values.source) ? ` (${text(values.source)})` : '')

import { limitText } from '../scenario/xp-words.ts'
import { plainName } from '../ui/words.ts'
import type { GameEvent } from './feed.ts'

type Data = Readonly<Record<string, unknown>>

const SEASONS: { readonly [Type in GameEvent['type']]?: string } = {
  SEASON_ANNOUNCED: 'the season was announced',
  SEASON_STARTED: 'the season started',
  SEASON_ENDING: 'the season is about to end',
  SEASON_ENDED: 'the season ended',
  SEASON_CLOSED: 'the season closed',
}

export function describeEvent(event: GameEvent): string {
  const { type, handle, nodeId, byClient } = event
  const data = (typeof event.data === 'object' && event.data !== null ? event.data : {}) as Data
  if (type === 'PLAYER_CREATED') return ['New player', plainName(text(data.nickname) ?? '')].filter(Boolean).join(' ')
  if (type === 'RUN_CANCELLED') return `Run cancelled: ${(text(data.cause) ?? 'no cause known').replaceAll('_', ' ')}`
  if (type === 'XP_LIMITED') return describeLimit(data)
  if (type === 'GRANT_JOB_CHANGED') return describeJob(data)
  if (type === 'SEASON_SETTLED') return describeSettled(String(nodeId), data)
  if (type === 'TIERS_CLAIMED') return describeClaimed(String(nodeId), data)
  if (type === 'INBOX_RECEIVED') return describeMessage(data)
  const season = SEASONS[type]
  if (season) return `${nodeId}: ${season}`
  if (byClient) return `${nodeId}: ${handle} (by the game client)`
  switch (handle) {
    case 'onStart':
      return 'Run started'
    case 'onLevelUp':
      return `Level ${text(data.fromLevel)} → ${text(data.toLevel)}${source(data)}`
    case 'onMaxLevel':
      return `Top level ${text(data.level)} reached${source(data)}`
    case 'onPremiumPurchase':
      return `Premium bought${isData(data.price) ? ` for ${sum(data.price)}` : ''}`
    case 'onSeasonEnd':
      return `${nodeId}: season over at level ${text(data.level)}`
    case 'onComplete':
      return describeCompletion(String(nodeId), data)
    default:
      return `${nodeId}: ${handle}`
  }
}

/** The nickname that a new player has, where an event has it. */
export const createdNickname = ({ type, data }: GameEvent): string | undefined =>
  type === 'PLAYER_CREATED' && isData(data) ? text(data.nickname) : undefined

function describeLimit(data: Data): string {
  const { granted, asked, limit, limitedBy } = data
  return `Limit of xp ${limitText(String(limitedBy))}: ${integer(granted)} of ${integer(asked)} granted, limit ${integer(limit)}${source(data)}`
}

function describeJob({ state, players, granted, failed }: Data): string {
  const lost = Number(failed) > 0 ? `, ${integer(failed)} failed` : ''
  return `Grant job ${text(state)}: ${integer(granted)} of ${integer(players)} players${lost}`
}

function describeMessage({ kind, rewards }: Data): string {
  const given = Array.isArray(rewards) ? rewards.filter(isData).map(sum) : []
  const what = kind === 'season_end' ? 'Message at the end of a season' : 'Message'
  return `${what}${given.length > 0 ? ` with ${given.join(', ')}` : ''}`
}

/** What was granted or mailed at the end of a season. */
function describeSettled(nodeId: string, { tiers, failed, granted, ended, mailed }: Data): string {
  const gone = Array.isArray(ended) ? `, ${ended.filter(isData).map(sum).join(', ')} ended` : ''
  const isMailed = Array.isArray(mailed)
  const rewards = [granted, mailed].flatMap((list) => (Array.isArray(list) ? list.filter(isData).map(sum) : []))
  const lost = Number(failed) > 0 ? `, ${integer(failed)} did not fit` : ''
  return `${nodeId}: ${integer(tiers)} unclaimed ${Number(tiers) === 1 ? 'tier' : 'tiers'} ${isMailed ? 'mailed' : 'granted'}${rewards.length > 0 ? ` (${rewards.join(', ')})` : ''}${gone}${lost}`
}

/** The tiers that a pass claimed for a player. */
function describeClaimed(nodeId: string, { claimed }: Data): string {
  const tiers = Array.isArray(claimed) ? claimed.filter(isData) : []
  const rewards = tiers.flatMap(({ granted }) => (Array.isArray(granted) ? granted.filter(isData).map(sum) : []))
  return `${nodeId}: ${tiers.length} ${tiers.length === 1 ? 'tier' : 'tiers'} claimed by itself${rewards.length > 0 ? ` (${rewards.join(', ')})` : ''}`
}

/** The completion of a pass, a level node or a reward node: each has other data. */
function describeCompletion(nodeId: string, data: Data): string {
  if (text(data.level)) return `${nodeId}: level ${text(data.level)} claimed (${text(data.track)})`
  if (!Array.isArray(data.granted)) return `${nodeId} completed: every tier claimed`
  const granted = data.granted.filter(isData).map(sum)
  return `${nodeId}: ${granted.length > 0 ? `${granted.join(', ')} granted` : 'nothing more to grant'}`
}

/** The kind of an event, for its colour. */
export function toneOf({ type, handle }: GameEvent): 'new' | 'level' | 'premium' | 'lost' | 'other' {
  if (type === 'PLAYER_CREATED') return 'new'
  if (type === 'RUN_CANCELLED') return 'lost'
  if (SEASONS[type]) return 'premium'
  if (handle === 'onPremiumPurchase') return 'premium'
  return handle === 'onLevelUp' || handle === 'onMaxLevel' ? 'level' : 'other'
}

const isData = (value: unknown): value is Data => typeof value === 'object' && value !== null

const text = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined

const source = (data: Data): string => (text(data.source) ? ` (${text(data.source)})` : '')

/** `950 gems`, `2 × sword`, or `a boost of 100% for 60 minutes`. */
function sum({ amount, currency, itemId, boost }: Data): string {
  const count = integer(amount)
  if (isData(boost)) {
    const one = `a boost of ${text(boost.percent)}% for ${text(boost.minutes)} minutes`
    return count === '1' ? one : `${count} × ${one}`
  }
  return text(itemId) ? `${count} × ${text(itemId)}` : `${count} ${text(currency)}`
}

const integer = (value: unknown): string =>
  /^-?\d+$/.test(String(value)) ? BigInt(String(value)).toLocaleString('en-US') : String(value)

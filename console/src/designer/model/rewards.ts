import { type Change, insertValues, RawText, removeItems, replace, setMember, type Value } from '../text/json-edit.ts'
import type { JsonArray } from '../text/json-tree.ts'
import { itemsOf, valueAt } from '../text/json-tree.ts'
import { type Reward, rewardOf } from './definition.ts'

// Rewards as people write them in one field: `50 gold, 1 item:surfboard, 100% xp for 60 min`. `nothing` is a list without
// rewards. A choice between lists of rewards is `one of (1 item:red | 1 item:blue + 5 gold)`.

export const NOTHING = 'nothing'
export const REWARDS_HINT = 'Such as 50 gold, 1 item:sword, 100% xp for 60 min'

/** Names that are unambiguous in the short form: `?` stands for an empty name. Others are written as JSON strings. */
const PLAIN = /^(?!item:|\?$)[^\s",;][^",;\r\n\t]*(?<!\s)$/

/** Inside of a choice these separate rewards and options. */
const SEPARATORS = /[|+()]/

const nameText = (name: string, isOption: boolean): string =>
  PLAIN.test(name) && !(isOption && SEPARATORS.test(name)) ? name : JSON.stringify(name)

function rewardText({ kind, name, amount, options = [] }: Reward, isOption = false): string {
  if (kind === 'choice') {
    const texts = options.map((option) => option.map((reward) => rewardText(reward, true)).join(' + ') || '?')
    return `one of (${texts.join(' | ')})`
  }
  const count = amount === '' ? '?' : amount
  // Without a sign: a spreadsheet would take it for a formula.
  if (kind === 'boost') return `${name === '' ? '?' : name}% xp for ${count} min`
  return `${count} ${kind === 'item' ? 'item:' : ''}${name === '' ? '?' : nameText(name, isOption)}`
}

export const rewardsText = (rewards: readonly Reward[]): string =>
  rewards.length === 0 ? NOTHING : rewards.map((reward) => rewardText(reward)).join(', ')

const REWARD = /\s*(\d+)\s*(?:[x×]\s+|\s)\s*(item:\s*)?("(?:[^"\\]|\\.)*"|[^",;]+)\s*(?:[,;]|$)/y

const BOOST = /\s*\+?\s*(\d+)\s*%\s*(?:xp\s*)?for\s+(\d+)\s*min(?:utes?)?\s*(?:[,;]|$)/y

const plainNumber = (digits: string): string => digits.replace(/^0+(?=\d)/, '')
const CHOICE = /\s*one\s+of\s*\(((?:"(?:[^"\\]|\\.)*"|[^"()])*)\)\s*(?:[,;]|$)/y

/** The parts of a text between separators outside of quotation marks. */
const partsOf = (text: string, part: RegExp): readonly string[] => text.match(part) ?? []

function readChoice(text: string): Reward | undefined {
  const options = partsOf(text, /(?:"(?:[^"\\]|\\.)*"|[^"|])+/g).map((option) => {
    const rewards = partsOf(option, /(?:"(?:[^"\\]|\\.)*"|[^"+])+/g).map(readRewards)
    return rewards.flatMap((list) => (list?.length === 1 && list[0]?.kind !== 'choice' ? list : [undefined]))
  })
  const isRead = options.length > 1 && options.every((option) => option.length > 0 && !option.includes(undefined))
  return isRead ? { kind: 'choice', name: '', amount: '', options: options as Reward[][] } : undefined
}

/** Reads the short form. Undefined for any other text. */
export function readRewards(text: string): Reward[] | undefined {
  const trimmed = text.trim()
  if (trimmed === NOTHING) return []
  const rewards: Reward[] = []
  for (let at = 0; at < trimmed.length; ) {
    CHOICE.lastIndex = at
    const choice = CHOICE.exec(trimmed)
    if (choice) {
      const read = readChoice(choice[1] ?? '')
      if (!read) return undefined
      rewards.push(read)
      // Not `lastIndex`: the options were read with the same expression.
      at += choice[0].length
      continue
    }
    BOOST.lastIndex = at
    const boost = BOOST.exec(trimmed)
    if (boost) {
      const [, percent = '', minutes = ''] = boost
      rewards.push({ kind: 'boost', name: plainNumber(percent), amount: plainNumber(minutes) })
      at = BOOST.lastIndex
      continue
    }
    REWARD.lastIndex = at
    const found = REWARD.exec(trimmed)
    if (!found) return undefined
    const [, amount = '', item, name = ''] = found
    const decoded = decodeName(name.trim())
    if (decoded === undefined || decoded === '') return undefined
    rewards.push({
      kind: item === undefined ? 'currency' : 'item',
      name: decoded,
      amount: plainNumber(amount),
    })
    at = REWARD.lastIndex === 0 ? trimmed.length : REWARD.lastIndex
  }
  return rewards.length === 0 || /[,;]$/.test(trimmed) ? undefined : rewards
}

function decodeName(text: string): string | undefined {
  if (!text.startsWith('"')) return text === '?' ? undefined : text
  try {
    const name: unknown = JSON.parse(text)
    return typeof name === 'string' ? name : undefined
  } catch {
    return undefined
  }
}

export function rewardValue(reward: Reward): Value {
  const { kind, name, amount, options = [] } = reward
  if (kind === 'choice') return { choice: options.map((option) => option.map(rewardValue)) }
  if (kind === 'boost') return { boost: boostValue(reward) }
  return kind === 'item'
    ? { itemId: name, amount: new RawText(amount) }
    : { currency: name, amount: new RawText(amount) }
}

const boostValue = ({ name, amount }: Reward): Value => ({
  percent: new RawText(name),
  minutes: new RawText(amount),
})

const isSame = (a: Reward | undefined, b: Reward | undefined): boolean =>
  a !== undefined && b !== undefined && rewardText(a) === rewardText(b) && a.kind === b.kind

/** Changes a list of rewards in place. Rewards that stay keep their other members. */
export function changeRewards(text: string, list: JsonArray, rewards: readonly Reward[]): Change[] {
  const items = itemsOf(list)
  const before = items.map(rewardOf)
  let head = 0
  while (head < before.length && head < rewards.length && isSame(before[head], rewards[head])) head += 1
  let tail = 0
  while (
    tail < before.length - head &&
    tail < rewards.length - head &&
    isSame(before[before.length - 1 - tail], rewards[rewards.length - 1 - tail])
  )
    tail += 1
  const removed = before.length - head - tail
  const added = rewards.slice(head, rewards.length - tail)
  const common = Math.min(removed, added.length)
  const changes = added.slice(0, common).flatMap((reward, at): Change[] => {
    const item = items[head + at]
    const old = before[head + at]
    if (!item || !old || isSame(old, reward)) return []
    const lists = itemsOf(valueAt(item, 'choice'))
    if (reward.options && lists.length === reward.options.length)
      return lists.flatMap((option, place) =>
        option.kind === 'array' ? changeRewards(text, option, reward.options?.[place] ?? []) : [],
      )
    if (item.kind !== 'object' || old.kind !== reward.kind || old.amount === '' || old.name === '')
      return [replace(text, item, rewardValue(reward))]
    if (reward.kind === 'boost') return [setMember(text, item, 'boost', boostValue(reward))]
    return [
      ...(old.amount === reward.amount ? [] : [setMember(text, item, 'amount', new RawText(reward.amount))]),
      ...(old.name === reward.name
        ? []
        : [setMember(text, item, reward.kind === 'item' ? 'itemId' : 'currency', reward.name)]),
    ]
  })
  const from = head + common
  if (added.length > common) changes.push(insertValues(text, list, from, added.slice(common).map(rewardValue)))
  else if (removed > common)
    changes.push(...removeItems(list, new Set(Array.from({ length: removed - common }, (_, at) => from + at))))
  return changes
}

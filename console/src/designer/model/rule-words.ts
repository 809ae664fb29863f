import { isServiceType } from '../../../../src/game/definition/handles.ts'
import { LIMITS, SENDERS } from '../../scenario/xp-words.ts'
import { type JsonNode, numberTextOf, stringOf, valueAt } from '../text/json-tree.ts'
import { type Difference, findAt } from './differences.ts'
import { integer, valueText } from './value-words.ts'

// Changes of the rules of xp and of handles, in sentences. A rule that is absent and one that is null are the same.

/**
 * Rules that are new, and lists of them that are new or gone, as the differences of their members. `now` is the definition
 * afterwards.
 */
export function rulesApart(difference: Difference, now: JsonNode): readonly Difference[] {
  const { path } = difference
  const [before, after] = [given(difference.before), given(difference.after)]
  const whole = before && after ? undefined : (before ?? after)
  const names = rulesPath(difference, now)?.join('.')
  const isApart = names === 'xp' ? before === undefined : names === 'xp.sources' || names === 'handles'
  if (!isApart || whole?.kind !== 'object') return [difference]
  const members = new Set(whole.items.map(({ name }) => name).filter((name) => valueAt(whole, name)))
  if (members.size === 0) return [difference]
  return [...members].flatMap((name) =>
    rulesApart({ path: [...path, { member: name }], before: valueAt(before, name), after: valueAt(after, name) }, now),
  )
}

/** The change of a rule in a sentence. Undefined for any other difference. */
export function ruleText(difference: Difference, now: JsonNode): string | undefined {
  const [rules, ...names] = rulesPath(difference, now) ?? []
  const [before, after] = [given(difference.before), given(difference.after)]
  if (rules === 'handles') return ofHandle(names, before, after)
  if (rules !== 'xp') return undefined
  if (names.length === 0 && before && !after)
    return 'The rules of xp are removed: clients may send xp of any source, without a limit.'
  const [name = '', source = '', member = ''] = names
  if (names.length === 1) return ofPass(name, before, after)
  if (name !== 'sources') return undefined
  if (names.length === 2) return listed(source, before, after)
  return names.length === 3 ? ofSource(source, member, before, after) : undefined
}

export function summaryOf(source: JsonNode | undefined): string {
  const from = stringOf(valueAt(source, 'from'))
  const limits = LIMITS.flatMap(([name, span]) => {
    const text = numberTextOf(valueAt(source, name))
    return text === undefined ? [] : [`${integer(text)} ${span}`]
  })
  return [SENDERS.find(([value]) => value === from)?.[1], ...limits].filter(Boolean).join(', ')
}

/** The names of members from the rules on. Undefined for a difference of anything else. */
function rulesPath({ path }: Difference, now: JsonNode): readonly string[] | undefined {
  const names = path.map((step) => ('member' in step ? step.member : ''))
  const isXp = names[2] === 'data' && names[3] === 'xp'
  if (names[0] !== 'nodes' || !(isXp || names[2] === 'handles')) return undefined
  const type = stringOf(valueAt(findAt(now, path.slice(0, 2)), 'type')) ?? ''
  if (isXp) return type === 'battle-pass' ? names.slice(3) : undefined
  return isServiceType(type) ? undefined : names.slice(2)
}

const given = (node: JsonNode | undefined): JsonNode | undefined => (node?.kind === 'null' ? undefined : node)

type Sides = readonly [before: JsonNode | undefined, after: JsonNode | undefined]

function ofPass(name: string, ...[before, after]: Sides): string | undefined {
  const instead = insteadOf(before, after)
  switch (name) {
    case 'from':
      return `Xp may come from ${instead(senderText('clients and servers'))}.`
    case 'others':
      return `Sources that are not listed ${after?.kind === 'boolean' && after.raw === 'false' ? 'cannot' : 'can'} be sent.`
    case 'over': {
      const calls: Readonly<Record<string, string>> = { clip: 'granted what is left of it', refuse: 'refused' }
      const over = (node: JsonNode | undefined) => textOf(node) ?? 'clip'
      return `A call over a limit is ${instead((node) => calls[over(node)] ?? over(node))}.`
    }
    case 'dayStartsAt':
      return `A day begins at ${instead((node) => textOf(node) ?? '00:00')}.`
    case 'timeZone':
      return `Days are of the time zone ${instead((node) => textOf(node) ?? 'UTC')}.`
    default:
      return ofLimit('All sources', name, before, after)
  }
}

/** A source that is listed now, or is not listed any more. */
function listed(name: string, ...[before, after]: Sides): string | undefined {
  if (before && after) return undefined
  const summary = summaryOf(before ?? after)
  if (after) return `New source ${name}${summary === '' ? ', without rules of its own' : `: ${summary}`}.`
  return `The source ${name} is not listed any more${summary === '' ? '' : `. It had: ${summary}`}.`
}

function ofSource(source: string, name: string, ...[before, after]: Sides): string | undefined {
  if (name !== 'from') return ofLimit(source, name, before, after)
  return `${source} may come from ${insteadOf(before, after)(senderText('whomever the pass says'))}.`
}

function ofHandle([handle, member, ...rest]: readonly string[], ...[before, after]: Sides): string | undefined {
  if (handle === undefined || rest.length > 0 || (member !== undefined && member !== 'from')) return undefined
  const from = (node: JsonNode | undefined) => (member === undefined ? valueAt(node, 'from') : node)
  const instead = insteadOf(from(before), from(after))
  return `${handle} may be crossed by ${instead(senderText('clients and servers'))}.`
}

function ofLimit(whose: string, name: string, ...[before, after]: Sides): string | undefined {
  const span = LIMITS.find(([limit]) => limit === name)?.[1]
  if (span === undefined) return undefined
  const xp = (node: JsonNode) => integer(numberTextOf(node) ?? valueText(node))
  if (after) return `${whose}: at most ${xp(after)} xp ${span} instead of ${before ? xp(before) : 'no limit'}.`
  return before && `${whose}: no limit ${span} instead of ${xp(before)} xp.`
}

const textOf = (node: JsonNode | undefined): string | undefined => node && (stringOf(node) ?? valueText(node))

const senderText = (otherwise: string) => (node: JsonNode | undefined) => {
  const from = textOf(node)
  return from === undefined ? otherwise : (SENDERS.find(([sender]) => sender === from)?.[1] ?? from)
}

/** The value after in words, with the value before if that differs. */
const insteadOf =
  (before: JsonNode | undefined, after: JsonNode | undefined) => (words: (node: JsonNode | undefined) => string) =>
    words(before) === words(after) ? words(after) : `${words(after)} instead of ${words(before)}`

import type { Path } from '../text/json-path.ts'
import { findNode } from '../text/json-path.ts'
import { itemsOf, type JsonNode, numberTextOf, parseJson, stringOf, valueAt } from '../text/json-tree.ts'
import { type Definition, rewardsOf } from './definition.ts'
import { type Difference, differences, type Step } from './differences.ts'
import { rewardsText } from './rewards.ts'
import { rulesApart, ruleText } from './rule-words.ts'
import { integer, valueText } from './value-words.ts'

export interface ChangeLine {
  readonly kind: 'added' | 'removed' | 'changed'
  readonly text: string
}

/** The differences of one node, or of the scenario as a whole. */
export interface ChangeGroup {
  readonly title: string
  readonly lines: readonly ChangeLine[]
}

/** The differences between two texts, in sentences. Undefined when one of them is not JSON. */
export function describeChanges(before: string, after: string): ChangeGroup[] | undefined {
  const [old, now] = [parseJson(before).root, parseJson(after).root]
  if (!old || !now) return undefined
  const groups = new Map<string, ChangeLine[]>()
  const add = (title: string, line: ChangeLine) => {
    const lines = groups.get(title) ?? []
    groups.set(title, lines)
    if (!lines.some(({ text }) => text === line.text)) lines.push(line)
  }
  for (const whole of differences(old, now))
    for (const difference of rulesApart(whole, now)) {
      const [title, line] = describe(difference, old, now)
      add(title, line)
    }
  for (const text of reordered(old, now)) add('Edges', { kind: 'changed', text })
  return [...groups].map(([title, lines]) => ({ title, lines }))
}

const nameOf = (step: Step | undefined): string =>
  step === undefined ? '' : 'member' in step ? step.member : step.entry

function describe(difference: Difference, old: JsonNode, now: JsonNode): [title: string, line: ChangeLine] {
  const { path, before, after } = difference
  const names = path.map(nameOf)
  const kind = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed'
  const line = (text: string): ChangeLine => ({ kind, text })
  const isEntry = path[1] !== undefined && 'entry' in path[1]
  if (names[0] === 'edges' && isEntry) {
    const [from = '', handle = '', to = ''] = (names[1] ?? '').split('\0')
    const edge = `${from} – ${handle} → ${to}`
    if (path.length > 2) return ['Edges', line(`${edge}: ${memberText(difference, 2)}`)]
    return ['Edges', line(kind === 'added' ? `New edge ${edge}.` : `The edge ${edge} is removed.`)]
  }
  if (names[0] === 'nodes' && isEntry) {
    const id = names[1] ?? ''
    if (path.length === 2) {
      const type = stringOf(valueAt(before ?? after, 'type')) ?? 'node'
      return [
        `Node ${id}`,
        line(
          kind === 'added'
            ? `New ${type} node ${id}.`
            : `The ${type} node ${id} is removed.${type === 'battle-pass' ? ' Its players cannot use the pass until a node with this id exists again.' : ''}`,
        ),
      ]
    }
    return [`Node ${id}`, line(ofNode(difference, names.slice(2), { old, now, id }))]
  }
  if (names.length === 1 && names[0] === 'name')
    return ['Scenario', line(`The name is ${valueText(after)} instead of ${valueText(before)}.`)]
  if (names.length === 1 && names[0] === 'start')
    return ['Scenario', line(`Runs begin at ${valueText(after)} instead of ${valueText(before)}.`)]
  return ['Scenario', line(memberText(difference, 0))]
}

function ofNode(
  difference: Difference,
  [data, part, key = '', ...rest]: readonly string[],
  { old, now, id }: { old: JsonNode; now: JsonNode; id: string },
): string {
  const { path, before, after } = difference
  const rule = ruleText(difference, now)
  if (rule !== undefined) return rule
  if (data !== 'data') return memberText(difference, 2)
  const isEntry = path[4] !== undefined && 'entry' in path[4]
  if (part === 'levels' && isEntry) {
    const xp = (node: JsonNode | undefined) => numberTextOf(node) ?? valueText(node)
    if (rest.length === 0) {
      const needs = integer(xp(valueAt(before ?? after, 'xp')))
      return before === undefined
        ? `New level ${key}, at ${needs} xp.`
        : `Level ${key} is removed. It needed ${needs} xp.`
    }
    if (rest.length === 1 && rest[0] === 'xp')
      return `Level ${key} needs ${integer(xp(after))} xp instead of ${integer(xp(before))}.`
  }
  if (part === 'tiers' && isEntry) {
    const [level, track] = key.split(' ')
    const tier = `the ${track} tier of level ${level}`
    if (rest.length === 0) {
      const rewards = rewardsText(rewardsOf(valueAt(before ?? after, 'rewards')))
      return before === undefined ? `New: ${tier} grants ${rewards}.` : `Removed: ${tier}. It granted ${rewards}.`
    }
    if (rest.length === 1 && rest[0] === 'rewards') return `${capital(tier)} ${granted(before, after)}`
  }
  if (part === 'rewards') {
    const track = key === 'free' || key === 'premium' ? key : undefined
    if (path.length === 4 && (before?.kind === 'array' || after?.kind === 'array'))
      return `It ${granted(before, after)}`
    if (path.length === 5 && track) return `The ${track} track ${granted(before, after)}`
  }
  if (part === 'premium' && (key === '' || PREMIUM_MEMBERS.includes(key))) {
    const [was, is] = [premiumOf(old, id), premiumOf(now, id)]
    const texts = [
      `Premium costs ${priceText(is)} instead of ${priceText(was)}.`,
      `The bonus of premium is ${bonusText(is)} instead of ${bonusText(was)}.`,
      `The purchase of premium ${granted(valueAt(was, 'instant'), valueAt(is, 'instant'))}`,
    ]
    if (key !== '') return texts[PREMIUM_MEMBERS.indexOf(key)] ?? ''
    // Premium is new, or gone, with all that it has.
    return texts.filter((_, at) => at === 0 || valueAt(was ?? is, PREMIUM_MEMBERS[at] ?? '')).join(' ')
  }
  if (part === 'startsAt' || part === 'endsAt' || part === 'claimUntil') {
    const what = { startsAt: 'The season starts', endsAt: 'The season ends', claimUntil: 'Claims are open until' }[part]
    const none = { startsAt: 'always open', endsAt: 'never', claimUntil: 'the end of the season' }[part]
    const date = (node: JsonNode | undefined) => (node === undefined || node.kind === 'null' ? none : valueText(node))
    return part === 'claimUntil'
      ? `${what} ${date(after)} instead of ${date(before)}.`
      : `${what}: ${date(after)} instead of ${date(before)}.`
  }
  return memberText(difference, 3)
}

const granted = (before: JsonNode | undefined, after: JsonNode | undefined): string =>
  `grants ${after ? rewardsText(rewardsOf(after)) : 'nothing'} instead of ${before ? rewardsText(rewardsOf(before)) : 'nothing'}.`

const PREMIUM_MEMBERS = ['price', 'xpPercent', 'instant']

function premiumOf(root: JsonNode, id: string): JsonNode | undefined {
  const node = itemsOf(valueAt(root, 'nodes')).find((one) => stringOf(valueAt(one, 'id')) === id)
  return valueAt(valueAt(node, 'data'), 'premium')
}

function bonusText(premium: JsonNode | undefined): string {
  const percent = numberTextOf(valueAt(premium, 'xpPercent'))
  return percent === undefined ? 'nothing' : `${percent}% of each xp`
}

function priceText(premium: JsonNode | undefined): string {
  const price = valueAt(premium, 'price')
  if (!price) return 'nothing, as it is not sold'
  return `${integer(numberTextOf(valueAt(price, 'amount')) ?? '?')} ${stringOf(valueAt(price, 'currency')) ?? '?'}`
}

function memberText({ path, before, after }: Difference, from: number): string {
  const name = path.slice(from).map(nameOf).join('.')
  if (before === undefined) return `${name} is new: ${valueText(after)}.`
  if (after === undefined) return `${name} is removed. It was ${valueText(before)}.`
  return `${name} is ${valueText(after)} instead of ${valueText(before)}.`
}

const capital = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`

/** A crossing enters nodes in the order of the handle's edges, so a new order is a change. */
function reordered(old: JsonNode, now: JsonNode): string[] {
  const targets = (root: JsonNode) => {
    const edges = valueAt(root, 'edges')
    const byHandle = new Map<string, string[]>()
    for (const edge of edges?.kind === 'array' ? edges.items : []) {
      const key = `${stringOf(valueAt(edge, 'from'))} – ${stringOf(valueAt(edge, 'handle'))}`
      byHandle.set(key, [...(byHandle.get(key) ?? []), stringOf(valueAt(edge, 'to')) ?? ''])
    }
    return byHandle
  }
  const before = targets(old)
  return [...targets(now)].flatMap(([handle, after]) => {
    const earlier = before.get(handle) ?? []
    const both = after.filter((one) => earlier.includes(one))
    const order = earlier.filter((one) => after.includes(one))
    return both.join('\0') === order.join('\0')
      ? []
      : [`Behind ${handle}, nodes are entered in another order: ${after.join(', ')}.`]
  })
}

/** A place of the definition in words, such as `pass, level 3, xp`. */
export function placeText({ root, nodes, edges }: Definition, path: Path): string {
  const [list, index, ...rest] = path
  if (list === 'nodes' && typeof index === 'number') {
    const node = nodes.find((one) => one.index === index)
    const id = node?.id ? node.id : `node ${index + 1}`
    const [data, part, at, ...inner] = rest
    if (data !== 'data') return [id, ...rest].join(', ')
    if ((part === 'levels' || part === 'tiers') && typeof at === 'number') {
      const entry = findNode(root, ['nodes', index, 'data', part, at])
      const level = numberTextOf(valueAt(entry, 'level')) ?? `${part === 'levels' ? 'level' : 'tier'} no. ${at + 1}`
      const track = part === 'tiers' ? `, ${stringOf(valueAt(entry, 'track')) ?? 'tier'}` : ''
      return [`${id}, level ${level}${track}`, ...inner.map(stepText)].join(', ')
    }
    return [id, ...rest.slice(1).map(stepText)].join(', ')
  }
  if (list === 'edges' && typeof index === 'number') {
    const edge = edges[index]
    return edge ? `edge ${edge.from} – ${edge.handle} → ${edge.to}` : `edge ${index + 1}`
  }
  return path.length === 0 ? 'definition' : path.map(stepText).join(', ')
}

const stepText = (step: string | number): string => (typeof step === 'number' ? `no. ${step + 1}` : step)

import { createHash } from 'node:crypto'
import type { Definition } from './definitions.ts'
import { type Call, definitionsOf, describeCall, type Version } from './history.ts'
import { type Answer, type Crossed, isRead, type PlayerState, scenarioOf, step } from './model.ts'

// Is there an order of the calls in which each takes effect at one moment between its invocation and its answer, and
// each answer is that of the model? The search is that of Wing and Gong, with the memory of Lowe: a set of calls that
// leads to the same state as before is not tried again.

/** The history of one player in a round. */
export interface PlayerHistory {
  readonly start: PlayerState
  readonly calls: readonly Call[]
  readonly versions: readonly Version[]
  /** The events of the player in the order of the stream; undefined when they are unknown. */
  readonly stream?: readonly Crossed[]
}

export type Verdict =
  | { readonly kind: 'linearizable'; readonly looked: number }
  | { readonly kind: 'violation'; readonly report: string }
  | { readonly kind: 'undecided'; readonly looked: number }

/** The search ends undecided after this many steps. */
const MAX_STEPS = 400_000

interface Search {
  readonly kind: 'found' | 'none' | 'undecided'
  readonly looked: number
  /** The longest order that was found. */
  readonly best: readonly Call[]
  readonly state: PlayerState
  /** Why none of the next calls fits. */
  readonly stuck: readonly string[]
}

export function check(history: PlayerHistory): Verdict {
  const whole = search(history)
  if (whole.kind === 'found') return { kind: 'linearizable', looked: whole.looked }
  if (whole.kind === 'undecided') return { kind: 'undecided', looked: whole.looked }
  return { kind: 'violation', report: explain(history) }
}

/** A position of the search: the books after the placed calls, and how many events of the stream they explain. */
interface Place {
  readonly state: PlayerState
  readonly told: number
}

function search({ start, calls, versions, stream }: PlayerHistory, maxSteps = MAX_STEPS): Search {
  const known = calls.filter((call) => call.answer !== undefined || call.effect !== 'never')
  const restores = known.some(({ request }) => request.kind === 'restore')
  const ops = known.sort((a, b) => a.invoked - b.invoked)
  const definitions = ops.map((call) => definitionsOf(versions, scenarioOf(call.request), call))
  const isRequired = ops.map((call) => call.answer !== undefined || call.effect === 'once')
  const isPlaced = ops.map(() => false)
  const began = Math.min(...ops.map(({ invoked }) => invoked))
  const failed = new Set<string>()
  const order: Call[] = []
  let required = isRequired.filter(Boolean).length
  let looked = 0
  let best: readonly Call[] = []
  let bestState = start
  let stuck: readonly string[] = []

  /** The calls that can come next: no unplaced call was answered before their invocation. */
  function candidates(): number[] {
    let end = Number.POSITIVE_INFINITY
    const found: number[] = []
    for (let at = 0; at < ops.length; at += 1) {
      const { invoked, answered } = ops[at] as Call
      if (invoked > end) break
      if (isPlaced[at]) continue
      found.push(at)
      if (isRequired[at]) end = Math.min(end, answered)
    }
    const free = found.filter((at) => (ops[at] as Call).invoked <= end)
    // Of the calls with a known commit time, only the earliest can come next, and none before the latest placed one.
    const next = Math.min(...free.map((at) => (isRequired[at] ? committedAt(ops[at]) : Number.POSITIVE_INFINITY)))
    const latest = Math.max(...order.map((call) => call.committed ?? 0), 0)
    const rank = (at: number) => (isRequired[at] ? (ops[at]?.answered ?? 0) : Number.POSITIVE_INFINITY)
    return free
      .filter((at) => {
        const { committed } = ops[at] as Call
        return committed === undefined || (committed <= next && committed >= latest)
      })
      .sort((a, b) => rank(a) - rank(b) || a - b)
  }

  function keyOf({ state, told }: Place): string {
    let low = 0
    while (isPlaced[low]) low += 1
    const beyond: number[] = []
    for (let at = low; at < ops.length; at += 1) if (isPlaced[at]) beyond.push(at)
    const books = createHash('sha1').update(canonical(state)).digest('base64')
    return `${low}|${beyond.join()}|${told}|${books}`
  }

  /** The positions after a call, one for each definition that may have been current and explains the answer. */
  function outcomes(at: number, place: Place, reasons?: string[]): Place[] {
    const call = ops[at] as Call
    const found: Place[] = []
    for (const definition of definitions[at] as readonly (Definition | undefined)[]) {
      looked += 1
      const fresh = `?${call.id}?`
      const made = step(place.state, call.request, definition, fresh)
      const names = call.answer === undefined ? new Map<string, string>() : unify(made.answer, call.answer)
      // A call that is in the books was not refused.
      if (call.answer === undefined && call.effect === 'once' && 'no' in made.answer) continue
      if (!names) {
        reasons?.push(
          `${describeCall(call, began)}\n      the model answers ${difference(made.answer, call.answer as Answer)}`,
        )
        continue
      }
      // The restore has lost the events before it, so the stream does not have them.
      const follows = stream && (!restores || place.told >= 0)
      const fits = !follows || made.crossed.every((crossed, index) => isTold(crossed, stream[place.told + index]))
      if (!fits) {
        reasons?.push(
          `${describeCall(call, began)}\n      crosses ${JSON.stringify(made.crossed)}, and the stream goes on with ${JSON.stringify(stream?.slice(place.told, place.told + made.crossed.length))}`,
        )
        continue
      }
      if (call.request.kind === 'books' && stream && place.told !== stream.length) {
        reasons?.push(`the stream tells more than happened: ${JSON.stringify(stream.slice(place.told))}`)
        continue
      }
      const told = call.request.kind === 'restore' ? 0 : follows ? place.told + made.crossed.length : place.told
      found.push({ state: rename(made.state, names), told })
    }
    return found
  }

  function place(at: number, then: Place): boolean {
    isPlaced[at] = true
    order.push(ops[at] as Call)
    if (isRequired[at]) required -= 1
    const isDone = go(then)
    if (isDone) return true
    isPlaced[at] = false
    order.pop()
    if (isRequired[at]) required += 1
    return false
  }

  function go(from: Place): boolean {
    if (required === 0) return true
    const next = candidates()
    if (order.length >= best.length) {
      best = [...order]
      bestState = from.state
      const reasons: string[] = []
      for (const at of next) outcomes(at, from, reasons)
      stuck = reasons
    }
    if (looked > maxSteps) return false
    // A read or a refusal changes nothing and is placed at once. A refusal with a commit time waits for its turn among
    // the writes.
    for (const at of next) {
      const call = ops[at] as Call
      if (!call.answer || call.committed !== undefined || !(isRead(call.request) || isRefusal(call.answer))) continue
      const [then] = outcomes(at, from)
      if (then) return place(at, then)
    }
    const key = keyOf(from)
    if (failed.has(key)) return false
    for (const at of next) {
      const tried = new Set<PlayerState>()
      for (const then of outcomes(at, from)) {
        // A call with an unknown outcome and no effect can be left out.
        if (!isRequired[at] && then.state === from.state) continue
        if (tried.has(then.state)) continue
        tried.add(then.state)
        if (place(at, then)) return true
      }
    }
    failed.add(key)
    return false
  }

  const isFound = go({ state: start, told: restores ? -1 : 0 })
  const kind = isFound ? 'found' : looked > maxSteps ? 'undecided' : 'none'
  return { kind, looked, best, state: bestState, stuck }
}

const committedAt = (call: Call | undefined): number => call?.committed ?? Number.POSITIVE_INFINITY

/** A refusal, or a result with `success` false. */
function isRefusal(answer: Answer): boolean {
  return 'no' in answer || (answer.ok as { success?: boolean } | null)?.success === false
}

/** Whether an event of the stream matches a crossing. The model knows only the data of levels. */
function isTold(crossed: Crossed, event: Crossed | undefined): boolean {
  if (event?.node !== crossed.node || event.handle !== crossed.handle) return false
  return Object.entries(crossed.data).every(([name, value]) => event.data[name] === value)
}

/**
 * Compares the answer of the model with the real one. Runs whose id is unknown have names in the model, which match any
 * id. Returns the ids that this answer reveals, by name, or undefined when the answers differ.
 */
function unify(model: unknown, actual: unknown, names = new Map<string, string>()): Map<string, string> | undefined {
  if (typeof model === 'string' && /^\?\d+\?$/.test(model) && typeof actual === 'string') {
    if ((names.get(model) ?? actual) !== actual) return undefined
    return names.set(model, actual)
  }
  if (typeof model !== 'object' || model === null || typeof actual !== 'object' || actual === null) {
    return model === actual ? names : undefined
  }
  if (Array.isArray(model) !== Array.isArray(actual)) return undefined
  const [left, right] = [model as Record<string, unknown>, actual as Record<string, unknown>]
  const unnamed = Object.keys(left).filter((key) => !(key in right))
  const extra = Object.keys(right).filter((key) => !(key in left))
  if (unnamed.length !== extra.length) return undefined
  // The ids of runs are keys in the books.
  let known = names
  for (const key of unnamed) {
    const found = extra.flatMap((id) => {
      const tried = unify(key, id, new Map(known))
      return (tried && unify(left[key], right[id], tried)) ?? []
    })
    if (!found[0]) return undefined
    known = found[0]
  }
  for (const key of Object.keys(left)) {
    if (!unnamed.includes(key) && !unify(left[key], right[key], known)) return undefined
  }
  for (const [name, id] of known) names.set(name, id)
  return names
}

function rename(state: PlayerState, names: ReadonlyMap<string, string>): PlayerState {
  let text: string | undefined
  for (const [from, to] of names) {
    if (from === to) continue
    text ??= JSON.stringify(state)
    text = text.replaceAll(from, to)
  }
  return text === undefined ? state : JSON.parse(text)
}

const texts = new WeakMap<object, string>()

/** The same text for equal values, in any order of their members. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? ''
  const known = texts.get(value)
  if (known !== undefined) return known
  const text = Array.isArray(value)
    ? `[${value.map(canonical).join()}]`
    : `{${Object.keys(value)
        .sort()
        .map((key) => `${key}:${canonical((value as Record<string, unknown>)[key])}`)
        .join()}}`
  texts.set(value, text)
  return text
}

/** The places where the answer of the model differs from the real one. */
function difference(model: unknown, actual: unknown): string {
  const differing = (left: unknown, right: unknown, path: string): string[] => {
    if (canonical(left) === canonical(right)) return []
    const areObjects = [left, right].every((side) => typeof side === 'object' && side !== null && !Array.isArray(side))
    if (!areObjects) return [`${path} ${JSON.stringify(left)} where it was ${JSON.stringify(right)}`]
    const [one, other] = [left as Record<string, unknown>, right as Record<string, unknown>]
    return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((key) =>
      differing(one[key], other[key], `${path}.${key}`),
    )
  }
  return differing(model, actual, '').join('; ')
}

const SHOWN = 12

/** The shortest beginning of a history that no order explains, and how far the best order gets. */
function explain(history: PlayerHistory): string {
  const { calls } = history
  const ends = calls.flatMap(({ answer, answered }) => (answer ? [answered] : [])).sort((a, b) => a - b)
  /** The history as it was known at a moment. */
  const until = (end: number): PlayerHistory => ({
    ...history,
    calls: calls
      .filter(({ invoked }) => invoked <= end)
      .map((call) =>
        call.answered <= end
          ? call
          : { ...call, answered: Number.POSITIVE_INFINITY, answer: undefined, effect: 'perhaps' },
      ),
  })
  let low = 0
  let high = ends.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    // A beginning that takes too long to decide counts as explained.
    if (search(until(ends[middle] as number)).kind === 'none') high = middle
    else low = middle + 1
  }
  const end = ends[low] ?? 0
  const { best, state, stuck } = search(until(end))
  const began = Math.min(...calls.map(({ invoked }) => invoked))
  const offender = calls.find(({ answered, answer }) => answer && answered === end)
  const pending = until(end).calls.filter((call) => !best.some(({ id }) => id === call.id) && call.id !== offender?.id)
  const line = (call: Call) => `  ${describeCall(call, began)}`
  return [
    'no order of these calls explains their answers (milliseconds since the first):',
    ...(best.length > SHOWN ? [`  … ${best.length - SHOWN} calls that can be explained`] : []),
    ...best.slice(-SHOWN).map(line),
    'this call cannot be placed:',
    ...(offender ? [line(offender)] : []),
    ...(pending.length > 0 ? ['these were under way, or their outcome is not known:', ...pending.map(line)] : []),
    `the books by then: ${JSON.stringify(state)}`,
    'none of these could come next:',
    ...stuck.slice(0, SHOWN).map((reason) => `  ${reason}`),
  ].join('\n')
}

import type { Fault } from '../errors.ts'
import { depthExceeds, elements, isCleanText, kindOf, MAX_INT64, members, RawJson, readInt } from '../json.ts'
import {
  MAX_ASSET,
  MAX_DEPTH,
  MAX_EDGES,
  MAX_HANDLE,
  MAX_ID,
  MAX_LEVEL,
  MAX_LEVELS,
  MAX_NAME,
  MAX_NODES,
  MAX_REWARDS,
  MAX_TYPE,
} from '../request/limits.ts'
import { parseMoment } from '../request/moment.ts'

// A scenario's definition: parsed and validated as a whole, with every fault at once. Pure; versions never change.

export const TRACKS = ['free', 'premium'] as const
export type Track = (typeof TRACKS)[number]

/** Exactly one of `currency` and `itemId` is set. */
export interface Reward {
  readonly currency: string | null
  readonly itemId: string | null
  readonly amount: bigint
}

export interface Tier {
  readonly level: number
  readonly track: Track
  readonly rewards: readonly Reward[]
}

export type TierKey = `${Track}:${number}`

export function areSameRewards(one: readonly Reward[], two: readonly Reward[]): boolean {
  return (
    one.length === two.length &&
    one.every(({ currency, itemId, amount }, index) => {
      const other = two[index]
      return other?.currency === currency && other.itemId === itemId && other.amount === amount
    })
  )
}

export const tierKey = (level: number, track: Track): TierKey => `${track}:${level}`

export function readTierKey(key: TierKey): { level: number; track: Track } {
  const [track, level] = key.split(':') as [Track, string]
  return { level: Number(level), track }
}

interface NodeBase {
  readonly id: string
  /** As published, for the client that runs the node. */
  readonly data: RawJson
}

/** A battle pass. State is kept per player, scenario and node. */
export interface PassNode extends NodeBase {
  readonly type: 'battle-pass'
  /** Sorted. Each has the total xp that reaches it. */
  readonly levels: readonly { readonly level: number; readonly xp: bigint }[]
  readonly topLevel: number
  /** The tiers of the pass and of its level nodes. Where both list rewards, the level node's count. */
  readonly tiers: ReadonlyMap<TierKey, Tier>
  readonly premium: { readonly currency: string; readonly amount: bigint } | null
  readonly startsAt: Date | null
  readonly endsAt: Date | null
  /** As published, otherwise `endsAt`. */
  readonly claimUntil: Date | null
}

/** A view on the tiers of one level of a pass. Its rewards are in the pass's `tiers`. */
export interface LevelNode extends NodeBase {
  readonly type: 'battle-pass-level'
  readonly levelNumber: number
  readonly passNodeId: string
}

/** How often a reward node pays a player: once in all, once in each run, or at each entry. */
export const REPEATS = ['never', 'run', 'always'] as const
export type Repeat = (typeof REPEATS)[number]

/** Grants its rewards on entry and completes. */
export interface RewardNode extends NodeBase {
  readonly type: 'reward'
  readonly rewards: readonly Reward[]
  /** As published, otherwise `never` for a node that clients can reach by themselves, and `always` for any other. */
  readonly repeat: Repeat
}

export interface StartNode extends NodeBase {
  readonly type: 'start'
}

/** The client runs nodes of any other type: plans hand them over. */
export interface ClientNode extends NodeBase {
  readonly type: 'client'
  readonly clientType: string
}

export type Node = PassNode | LevelNode | RewardNode | StartNode | ClientNode

export interface Definition {
  readonly name: string
  readonly start: string
  readonly nodes: ReadonlyMap<string, Node>
  /** The targets of each handle. Use `nextNodes`. */
  readonly edges: ReadonlyMap<string, readonly string[]>
}

export type ParsedDefinition =
  | { readonly ok: true; readonly definition: Definition; readonly notices: readonly Fault[] }
  | { readonly ok: false; readonly faults: readonly Fault[] }

/** The handles of each node type that the service runs, in no order. */
export const HANDLES_OF = {
  start: ['onStart'],
  'battle-pass': ['onLevelUp', 'onMaxLevel', 'onComplete', 'onPremiumPurchase'],
  'battle-pass-level': ['onComplete'],
  reward: ['onComplete'],
} as const satisfies Record<Exclude<Node['type'], 'client'>, readonly string[]>

/** Handles that only the service crosses. `onComplete` is also for client nodes. */
export const SERVER_HANDLES: readonly string[] = ['onStart', 'onLevelUp', 'onMaxLevel', 'onPremiumPurchase']

/** Without the length, which has a fault of its own. */
export const HANDLE = /^[A-Za-z][A-Za-z0-9_.-]*$/

/** More than a person reads. The last fault says how many there are. */
const MAX_FAULTS = 100

// Ids and handles contain no NUL, so keys are unambiguous.
const edgeKey = (nodeId: string, handle: string): string => `${nodeId}\0${handle}`

/** The target nodes of a crossed handle, in the order of the edges. */
export function nextNodes(definition: Definition, nodeId: string, handle: string): readonly string[] {
  return definition.edges.get(edgeKey(nodeId, handle)) ?? []
}

/** The type of a node, as it was published. */
export function typeOf(node: Node): string {
  return node.type === 'client' ? node.clientType : node.type
}

export interface Validation {
  /** Every reason why publishing would refuse the text. */
  readonly faults: readonly Fault[]
  /** Notes for the designer about a text without faults. */
  readonly notices: readonly Fault[]
}

export function validateDefinition(text: string): Validation {
  const parsed = parseDefinition(text)
  return parsed.ok ? { faults: [], notices: parsed.notices } : { faults: parsed.faults, notices: [] }
}

/**
 * Parses and validates a definition's text. A stored text was published under the rules of its time, so later rules do
 * not apply to it.
 */
export function parseDefinition(text: string, { isStored = false } = {}): ParsedDefinition {
  if (depthExceeds(text, MAX_DEPTH))
    return { ok: false, faults: [{ path: '', message: `must not nest deeper than ${MAX_DEPTH}` }] }
  try {
    JSON.parse(text)
  } catch {
    return { ok: false, faults: [{ path: '', message: 'must be JSON' }] }
  }
  // Inside a string of a client's data it would be valid JSON, but text that cannot be stored.
  if (!isCleanText(text))
    return { ok: false, faults: [{ path: '', message: 'must not contain NUL or a lone surrogate' }] }
  const reader = new Reader(isStored)
  const definition = readDefinition(reader, text.trim())
  if (reader.faults.length > 0) return { ok: false, faults: reader.reported }
  return { ok: true, definition, notices: reader.notices }
}

/** A place in the document: its path and its raw text. The text is undefined when the value is absent or null. */
interface Place {
  readonly path: string
  readonly raw: string | undefined
  /** The place is inside a faulty value, which is reported once. */
  readonly isMoot?: boolean
}

/** Collects faults and reads on with stand-ins, so that one pass finds them all. */
class Reader {
  readonly faults: Fault[] = []
  readonly notices: Fault[] = []
  /** Reward nodes without a `repeat`. */
  readonly openRepeats = new Set<string>()
  private readonly isStored: boolean

  constructor(isStored: boolean) {
    this.isStored = isStored
  }

  get reported(): readonly Fault[] {
    const { length } = this.faults
    if (length <= MAX_FAULTS) return this.faults
    return [...this.faults.slice(0, MAX_FAULTS), { path: '', message: `and ${length - MAX_FAULTS} more faults` }]
  }

  fault(path: string, message: string): void {
    this.faults.push({ path, message })
  }

  notice(path: string, message: string): void {
    this.notices.push({ path, message })
  }

  /** A fault by a rule that is newer than some stored definitions. */
  lateFault(path: string, message: string): void {
    if (!this.isStored) this.fault(path, message)
  }

  /** Reports an absent or unfit value. */
  unfit({ path, raw, isMoot }: Place, message: string): void {
    if (!isMoot) this.fault(path, raw === undefined ? 'is required' : message)
  }

  /** The members of an object as places. When it is no object, every member is absent and moot. */
  object(place: Place): (name: string) => Place {
    const { path, raw } = place
    const isObject = raw !== undefined && kindOf(raw) === 'object'
    if (!isObject) this.unfit(place, 'must be an object')
    const found = isObject ? members(raw) : new Map<string, string>()
    return (name) => {
      const value = found.get(name)
      return {
        path: path === '' ? name : `${path}.${name}`,
        raw: value === 'null' ? undefined : value,
        isMoot: !isObject,
      }
    }
  }

  list(place: Place, { min, max }: { min: number; max: number }): Place[] {
    const { path, raw } = place
    if (raw === undefined && min === 0 && !place.isMoot) return []
    if (raw === undefined || kindOf(raw) !== 'array') {
      this.unfit(place, 'must be a list')
      return []
    }
    const places = elements(raw).map((element, index) => ({
      path: `${path}[${index}]`,
      raw: element === 'null' ? undefined : element,
    }))
    if (places.length < min || places.length > max) {
      this.fault(path, `must have ${min} to ${max} entries`)
      return places.slice(0, max)
    }
    return places
  }

  text(place: Place, max: number): string {
    const { path } = place
    const value = stringOf(place)
    if (value === undefined) {
      this.unfit(place, 'must be a string')
      return ''
    }
    const length = [...value].length
    if (!isCleanText(value)) this.fault(path, 'must not contain NUL or a lone surrogate')
    else if (length < 1 || length > max) this.fault(path, `must be 1 to ${max} characters`)
    return value
  }

  integer(place: Place, min: bigint, max: bigint): bigint | undefined {
    const { path, raw } = place
    const value = raw === undefined ? undefined : readInt(raw)
    if (value === undefined) {
      this.unfit(place, 'must be an integer')
    } else if (value < min || value > max) {
      this.fault(path, `must be ${min} to ${max}`)
      return undefined
    }
    return value
  }

  /** An RFC 3339 date-time with its offset; null when absent. */
  dateTime(place: Place): Date | null {
    if (place.raw === undefined) return null
    const text = stringOf(place)
    const date = text === undefined ? undefined : parseMoment(text)
    if (!date) this.unfit(place, 'must be a date and time with an offset, such as 2026-12-01T00:00:00Z')
    return date ?? null
  }
}

/** The decoded string at a place; undefined for another kind of value. */
function stringOf({ raw }: Place): string | undefined {
  return raw !== undefined && kindOf(raw) === 'string' ? JSON.parse(raw) : undefined
}

function readDefinition(reader: Reader, text: string): Definition {
  const scenario = reader.object({ path: '', raw: text })
  const name = reader.text(scenario('name'), MAX_NAME)
  const start = reader.text(scenario('start'), MAX_ID)
  const nodePlaces = reader.list(scenario('nodes'), { min: 1, max: MAX_NODES })
  const edgePlaces = reader.list(scenario('edges'), { min: 0, max: MAX_EDGES })

  const nodes = new Map<string, Node>()
  const paths = new Map<string, string>()
  const brought: BroughtTier[] = []
  for (const place of nodePlaces) {
    const node = readNode(reader, place, brought)
    if (node.id === '') continue
    if (nodes.has(node.id)) reader.fault(`${place.path}.id`, `repeats the id of ${paths.get(node.id)}`)
    else paths.set(node.id, place.path)
    nodes.set(node.id, node)
  }
  const edges = readEdges(reader, edgePlaces, nodes)
  addTiers(reader, nodes, brought)

  const definition = {
    name,
    start,
    nodes,
    edges,
  }
  if (start !== '' && !nodes.has(start)) reader.fault('start', `names no node: "${start}"`)
  for (const node of nodes.values()) {
    const path = paths.get(node.id) ?? ''
    if (node.type === 'start' && start !== '' && node.id !== start)
      reader.fault(path, 'has type start, but is not where the scenario starts')
    if (node.type === 'battle-pass-level') checkLevelNode(reader, path, node, nodes)
  }
  checkCycles(reader, definition, paths)
  setRepeats(reader, definition, paths)
  return definition
}

const PAYS: Readonly<Record<Repeat, string>> = {
  never: 'pays each player once, over all runs and versions',
  run: 'pays once in each run',
  always: 'pays each time that it is entered',
}

/** Sets `repeat` for reward nodes where the definition does not. */
function setRepeats(
  reader: Reader,
  { start, nodes, edges }: Definition & { readonly nodes: Map<string, Node> },
  paths: ReadonlyMap<string, string>,
): void {
  const reached = reachedByClients({ start, nodes, edges })
  for (const node of nodes.values()) {
    if (node.type !== 'reward') continue
    const isReached = reached.has(node.id)
    const isOpen = reader.openRepeats.has(node.id)
    const repeat = isOpen && isReached ? 'never' : node.repeat
    nodes.set(node.id, { ...node, repeat })
    const why = isReached ? 'clients can reach it by themselves' : 'only the service leads to it'
    const message = `${PAYS[repeat]}${isOpen ? '' : ', as data.repeat says'}; ${why}`
    reader.notice(paths.get(node.id) ?? '', message)
  }
}

/**
 * The reward nodes that a client can reach although the service has verified nothing: by starting a run, or by a handle
 * that clients cross, directly or through other reward nodes.
 */
function reachedByClients({ start, nodes, edges }: Pick<Definition, 'start' | 'nodes' | 'edges'>): Set<string> {
  const reached = new Set<string>()
  const visit = (nodeId: string): void => {
    if (nodes.get(nodeId)?.type !== 'reward' || reached.has(nodeId)) return
    reached.add(nodeId)
    for (const next of edges.get(edgeKey(nodeId, 'onComplete')) ?? []) visit(next)
  }
  visit(start)
  for (const [key, targets] of edges) {
    const type = nodes.get(key.slice(0, key.indexOf('\0')))?.type
    if (type === 'client' || type === 'start') for (const target of targets) visit(target)
  }
  return reached
}

function readNode(reader: Reader, place: Place, brought: BroughtTier[]): Node {
  const node = reader.object(place)
  const id = reader.text(node('id'), MAX_ID)
  const type = reader.text(node('type'), MAX_TYPE)
  const dataPlace = node('data')
  const dataText = dataPlace.raw ?? '{}'
  const base = { id, data: new RawJson(dataText) }
  const data = reader.object({ path: dataPlace.path, raw: dataText })
  switch (type) {
    case 'start':
      return { ...base, type }
    case 'reward':
      return { ...base, type, rewards: readRewards(reader, data('rewards')), repeat: readRepeat(reader, id, data) }
    case 'battle-pass':
      return { ...base, type, ...readPass(reader, data) }
    case 'battle-pass-level':
      return { ...base, type, ...readLevelNode(reader, data, brought) }
    default:
      return { ...base, type: 'client', clientType: type }
  }
}

/** Without a value, `setRepeats` decides. */
function readRepeat(reader: Reader, nodeId: string, data: (name: string) => Place): Repeat {
  const place = data('repeat')
  const text = stringOf(place)
  const repeat = REPEATS.find((known) => known === text)
  if (repeat) return repeat
  if (place.raw !== undefined) reader.lateFault(place.path, `must be one of ${REPEATS.join(', ')}`)
  reader.openRepeats.add(nodeId)
  return 'always'
}

function readRewards(reader: Reader, place: Place, min = 1): Reward[] {
  return reader.list(place, { min, max: MAX_REWARDS }).map((entry) => {
    const reward = reader.object(entry)
    const currency = reward('currency')
    const itemId = reward('itemId')
    const amount = reader.integer(reward('amount'), 1n, MAX_INT64) ?? 1n
    if ((currency.raw === undefined) === (itemId.raw === undefined)) {
      if (entry.raw !== undefined && kindOf(entry.raw) === 'object')
        reader.fault(entry.path, 'must have exactly one of currency and itemId')
      return { currency: null, itemId: null, amount }
    }
    return {
      currency: currency.raw === undefined ? null : reader.text(currency, MAX_ASSET),
      itemId: itemId.raw === undefined ? null : reader.text(itemId, MAX_ASSET),
      amount,
    }
  })
}

function readPass(reader: Reader, data: (name: string) => Place): Omit<PassNode, 'id' | 'data' | 'type'> {
  const levels = readLevels(reader, data('levels'))
  const known = new Set(levels.map(({ level }) => level))
  const areLevelsRead = levels.length > 0
  const premium = data('premium').raw === undefined ? null : readPrice(reader, data('premium'))
  const tiers = new Map<TierKey, Tier>()
  for (const place of reader.list(data('tiers'), { min: 0, max: TRACKS.length * MAX_LEVELS })) {
    const tier = readTier(reader, place)
    if (!tier) continue
    const { level, track } = tier
    if (areLevelsRead && !known.has(level)) reader.fault(`${place.path}.level`, `names no level of this pass: ${level}`)
    if (tiers.has(tierKey(level, track))) reader.fault(place.path, `repeats the ${track} tier of level ${level}`)
    if (track === 'premium' && !premium) reader.fault(place.path, 'is a premium tier of a pass without premium')
    tiers.set(tierKey(level, track), tier)
  }

  const startsAt = reader.dateTime(data('startsAt'))
  const endsAt = reader.dateTime(data('endsAt'))
  const claimUntil = reader.dateTime(data('claimUntil')) ?? endsAt
  if (startsAt && endsAt && startsAt >= endsAt) reader.fault(data('endsAt').path, 'must be after startsAt')
  if (startsAt && claimUntil && !endsAt && startsAt >= claimUntil)
    reader.fault(data('claimUntil').path, 'must be after startsAt')
  if (endsAt && claimUntil && claimUntil < endsAt) reader.fault(data('claimUntil').path, 'must not be before endsAt')
  return { levels, topLevel: levels.at(-1)?.level ?? 0, tiers, premium, startsAt, endsAt, claimUntil }
}

/** The levels in order; none when one of them is unreadable, so that no tier is blamed for it. */
function readLevels(reader: Reader, place: Place): { level: number; xp: bigint }[] {
  const levels: { level: number; xp: bigint }[] = []
  let areAllNamed = true
  let lastLevel: bigint | undefined
  let lastXp: bigint | undefined
  for (const entry of reader.list(place, { min: 1, max: MAX_LEVELS })) {
    const member = reader.object(entry)
    const level = reader.integer(member('level'), 1n, BigInt(MAX_LEVEL))
    const xp = reader.integer(member('xp'), 0n, MAX_INT64)
    if (level !== undefined && lastLevel !== undefined && level <= lastLevel)
      reader.fault(`${entry.path}.level`, 'must be higher than the level before it')
    if (xp !== undefined && lastXp !== undefined && xp <= lastXp)
      reader.fault(`${entry.path}.xp`, 'must be more than the xp of the level before it')
    lastLevel = level ?? lastLevel
    lastXp = xp ?? lastXp
    if (level === undefined) areAllNamed = false
    else levels.push({ level: Number(level), xp: xp ?? 0n })
  }
  return areAllNamed ? levels : []
}

function readTier(reader: Reader, place: Place): Tier | undefined {
  const tier = reader.object(place)
  const level = reader.integer(tier('level'), 1n, BigInt(MAX_LEVEL))
  const trackText = stringOf(tier('track'))
  const track = TRACKS.find((known) => known === trackText)
  if (!track) reader.unfit(tier('track'), `must be one of ${TRACKS.join(', ')}`)
  const rewards = readRewards(reader, tier('rewards'), 0)
  return level === undefined || !track ? undefined : { level: Number(level), track, rewards }
}

function readPrice(reader: Reader, place: Place): { currency: string; amount: bigint } {
  const price = reader.object(reader.object(place)('price'))
  return {
    currency: reader.text(price('currency'), MAX_ASSET),
    amount: reader.integer(price('amount'), 0n, MAX_INT64) ?? 0n,
  }
}

/** A tier with rewards on a level node. */
interface BroughtTier {
  readonly path: string
  readonly passNodeId: string
  readonly tier: Tier
}

function readLevelNode(
  reader: Reader,
  data: (name: string) => Place,
  brought: BroughtTier[],
): Omit<LevelNode, 'id' | 'data' | 'type'> {
  const numberPlace = data('levelNumber')
  // A number or a decimal string: level editors write both.
  const number = reader.integer(
    { ...numberPlace, raw: stringOf(numberPlace) ?? numberPlace.raw },
    1n,
    BigInt(MAX_LEVEL),
  )
  const levelNumber = Number(number ?? 0)
  const passNodeId = reader.text(data('passNodeId'), MAX_ID)
  const rewardsPlace = data('rewards')
  if (rewardsPlace.raw !== undefined) {
    const rewards = reader.object(rewardsPlace)
    for (const track of TRACKS) {
      const place = rewards(track)
      if (place.raw === undefined) continue
      const tier = { level: levelNumber, track, rewards: readRewards(reader, place, 0) }
      brought.push({ path: place.path, passNodeId, tier })
    }
  }
  return { levelNumber, passNodeId }
}

/** Adds the tiers of level nodes to those of their passes, so that a tier has one definition. */
function addTiers(reader: Reader, nodes: Map<string, Node>, brought: readonly BroughtTier[]): void {
  const byPass = new Map<PassNode, Map<TierKey, BroughtTier>>()
  for (const one of brought) {
    const { path, passNodeId, tier } = one
    const { level, track, rewards } = tier
    const pass = nodes.get(passNodeId)
    if (pass?.type !== 'battle-pass') continue
    if (track === 'premium' && !pass.premium) reader.fault(path, 'is for a pass without premium')
    if (!pass.levels.some((known) => known.level === level)) continue
    const tiers = byPass.get(pass) ?? new Map<TierKey, BroughtTier>()
    byPass.set(pass, tiers)
    const key = tierKey(level, track)
    const first = tiers.get(key)
    if (!first) {
      tiers.set(key, one)
      if (pass.tiers.has(key))
        reader.notice(path, `replaces what the pass lists for the ${track} tier of level ${level}`)
    } else if (!areSameRewards(first.tier.rewards, rewards)) {
      reader.lateFault(path, `differs from ${first.path}: the ${track} tier of level ${level} has one list of rewards`)
    }
  }
  for (const [pass, added] of byPass) {
    const tiers = new Map(pass.tiers)
    for (const [key, { tier }] of added) tiers.set(key, tier)
    nodes.set(pass.id, { ...pass, tiers })
  }
}

function checkLevelNode(reader: Reader, path: string, node: LevelNode, nodes: ReadonlyMap<string, Node>): void {
  const pass = nodes.get(node.passNodeId)
  if (pass?.type !== 'battle-pass') {
    if (node.passNodeId !== '')
      reader.fault(`${path}.data.passNodeId`, `names no battle-pass node: "${node.passNodeId}"`)
    return
  }
  const { levelNumber } = node
  if (levelNumber === 0 || pass.levels.length === 0) return
  if (!pass.levels.some(({ level }) => level === levelNumber)) {
    reader.fault(`${path}.data.levelNumber`, `names no level of the pass: ${levelNumber}`)
  } else if (!TRACKS.some((track) => pass.tiers.has(tierKey(levelNumber, track)))) {
    reader.fault(
      `${path}.data.levelNumber`,
      `names a level without a tier, and the node has no rewards of its own: ${levelNumber}`,
    )
  }
}

function readEdges(reader: Reader, places: readonly Place[], nodes: ReadonlyMap<string, Node>): Map<string, string[]> {
  const edges = new Map<string, Set<string>>()
  for (const place of places) {
    const edge = reader.object(place)
    const from = reader.text(edge('from'), MAX_ID)
    const handle = reader.text(edge('handle'), MAX_HANDLE)
    const to = reader.text(edge('to'), MAX_ID)
    if (from !== '' && !nodes.has(from)) reader.fault(`${place.path}.from`, `names no node: "${from}"`)
    if (to !== '' && !nodes.has(to)) reader.fault(`${place.path}.to`, `names no node: "${to}"`)
    if (nodes.get(to)?.type === 'start') reader.fault(`${place.path}.to`, 'leads back into the start')
    const node = nodes.get(from)
    const isName = HANDLE.test(handle)
    if (handle !== '' && !isName)
      reader.lateFault(`${place.path}.handle`, 'must be a letter, then letters, digits, _, . or -')
    if (node && isName) checkHandle(reader, `${place.path}.handle`, node, handle)
    if (from === '' || handle === '' || to === '') continue
    const key = edgeKey(from, handle)
    const targets = edges.get(key) ?? new Set()
    if (targets.has(to)) reader.fault(place.path, 'repeats an edge')
    edges.set(key, targets.add(to))
  }
  return new Map([...edges].map(([key, targets]) => [key, [...targets]]))
}

/** An edge that is never crossed is a mistake of the designer. */
function checkHandle(reader: Reader, path: string, node: Node, handle: string): void {
  if (node.type === 'client') {
    if (SERVER_HANDLES.includes(handle)) reader.fault(path, `is crossed by the service only: ${handle}`)
    return
  }
  const handles: readonly string[] = HANDLES_OF[node.type]
  if (!handles.includes(handle))
    reader.fault(path, `is never crossed by a ${node.type} node, which has ${handles.join(', ')}`)
}

/** Reward nodes run by themselves: a cycle of them would never end. */
function checkCycles(reader: Reader, definition: Definition, paths: ReadonlyMap<string, string>): void {
  const done = new Set<string>()
  const trail: string[] = []
  const visit = (nodeId: string): void => {
    if (definition.nodes.get(nodeId)?.type !== 'reward' || done.has(nodeId)) return
    const loop = trail.indexOf(nodeId)
    if (loop >= 0) {
      reader.fault(
        paths.get(nodeId) ?? '',
        `is part of a cycle of nodes that run by themselves: ${[...trail.slice(loop), nodeId].join(' → ')}`,
      )
      return
    }
    trail.push(nodeId)
    for (const next of nextNodes(definition, nodeId, 'onComplete')) visit(next)
    trail.pop()
    done.add(nodeId)
  }
  for (const nodeId of definition.nodes.keys()) visit(nodeId)
}

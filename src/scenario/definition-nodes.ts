import { MAX_INT64, RawJson } from '../base/json.ts'
import {
  HANDLE,
  MAX_ENDING_HOURS,
  MAX_HANDLE,
  MAX_ID,
  MAX_LEVEL,
  MAX_LEVELS,
  MAX_TYPE,
  MAX_XP_PERCENT,
} from '../base/limits.ts'
import { readBeyond } from './beyond.ts'
import {
  AT_ENDS,
  type AtEnd,
  AUTO_CLAIMS,
  edgeKey,
  HANDLES_OF,
  type Level,
  type LevelNode,
  type Node,
  type NodeBase,
  type PassNode,
  REPEATS,
  type Repeat,
  type Tier,
  type TierKey,
  TRACKS,
  tierKey,
} from './definition.ts'
import { type RawValue, type Reader, readLate, stringOf } from './definition-reader.ts'
import { readAsset, readOffer, readRewards } from './definition-rewards.ts'
import { type BroughtTier, checkHandle } from './definition-rules.ts'
import { DISPLAY_MEMBERS, readDisplay } from './display.ts'
import { readNextSeason } from './next-season.ts'
import { PLAIN_MAIL, readMail } from './season-mail.ts'
import { openToClients, readServerHandles, readXpRules } from './xp-rules.ts'

/** The members of `data` that the service reads, by the type of the node. The game may have others there. */
const DATA_MEMBERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['reward', ['rewards', 'repeat']],
  [
    'battle-pass',
    [
      ...['levels', 'tiers', 'premium', 'xp'],
      ...['announcedAt', 'startsAt', 'endingHours', 'endsAt', 'claimUntil'],
      ...['atEnd', 'mail', 'autoClaim', 'next', 'beyond', ...DISPLAY_MEMBERS],
    ],
  ],
  ['battle-pass-level', ['levelNumber', 'passNodeId', 'rewards']],
])

export function readNode(reader: Reader, source: RawValue, brought: BroughtTier[]): Node {
  const node = reader.object(source, ['id', 'type', 'handles', 'data'], { isShared: true })
  const id = reader.text(node('id'), MAX_ID)
  reader.blankNotice(`${source.path}.id`, id)
  const type = reader.text(node('type'), MAX_TYPE)
  const handles = node('handles')
  const serverHandles = readServerHandles(reader, handles)
  if (serverHandles.size > 0 && Object.hasOwn(HANDLES_OF, type))
    reader.lateFault(handles.path, 'must be absent: the service crosses the handles of this node')
  const dataValue = node('data')
  const dataText = dataValue.raw ?? '{}'
  const base = { id, data: new RawJson(dataText) }
  const data = reader.object({ path: dataValue.path, raw: dataText }, DATA_MEMBERS.get(type), { isShared: true })
  switch (type) {
    case 'start':
      return { ...base, type }
    case 'reward':
      return { ...base, type, rewards: readRewards(reader, data('rewards')), repeat: readRepeat(reader, id, data) }
    case 'battle-pass':
      return readPass(reader, base, data)
    case 'battle-pass-level':
      return { ...base, type, ...readLevelNode(reader, data, brought) }
    default:
      return { ...base, type: 'client', clientType: type, serverHandles }
  }
}

/** How often a reward node pays. If `repeat` is absent, `setRepeats` decides. */
function readRepeat(reader: Reader, nodeId: string, data: (name: string) => RawValue): Repeat {
  const source = data('repeat')
  const text = stringOf(source)
  const repeat = REPEATS.find((known) => known === text)
  if (repeat) return repeat
  if (source.raw !== undefined) reader.lateFault(source.path, `must be one of ${REPEATS.join(', ')}`)
  reader.openRepeats.add(nodeId)
  return 'always'
}

/** In full, not put together by spreads: V8 has one form of object for the passes of all definitions. */
function readPass(reader: Reader, base: NodeBase, data: (name: string) => RawValue): PassNode {
  const levels = readLevels(reader, data('levels'))
  const known = new Set(levels.map(({ level }) => level))
  const areLevelsRead = levels.length > 0
  const { premium, premiumXpPercent, premiumInstant } = readPremium(reader, data('premium'))
  const tiers = new Map<TierKey, Tier>()
  for (const source of reader.list(data('tiers'), { min: 0, max: TRACKS.length * MAX_LEVELS })) {
    const tier = readTier(reader, source)
    if (!tier) continue
    const { level, track } = tier
    if (areLevelsRead && !known.has(level))
      reader.fault(`${source.path}.level`, `names no level of this pass: ${level}`)
    if (tiers.has(tierKey(level, track))) reader.fault(source.path, `repeats the ${track} tier of level ${level}`)
    if (track === 'premium' && !premium) reader.fault(source.path, 'is a premium tier of a pass without premium')
    tiers.set(tierKey(level, track), tier)
  }

  const startsAt = reader.moment(data('startsAt'))
  const endsAt = reader.moment(data('endsAt'))
  const claimUntil = reader.moment(data('claimUntil')) ?? endsAt
  if (startsAt && endsAt && startsAt >= endsAt) reader.fault(data('endsAt').path, 'must be after startsAt')
  if (claimUntil && !endsAt)
    reader.lateFault(data('claimUntil').path, 'needs endsAt: without it, the season never ends')
  if (endsAt && claimUntil && claimUntil < endsAt) reader.fault(data('claimUntil').path, 'must not be before endsAt')
  const announcedAt = readLate(reader, (own) => readAnnouncedAt(own, data('announcedAt'), startsAt), null)
  const endingAt = readLate(reader, (own) => readEndingAt(own, data('endingHours'), { startsAt, endsAt }), null)
  const atEnd = readLate(reader, (own) => readAtEnd(own, data('atEnd'), endsAt), 'lose')
  const mail = readLate(reader, (own) => readMail(own, data('mail'), atEnd === 'mail'), null)
  const autoClaim = readLate(reader, (own) => readOneOf(own, data('autoClaim'), AUTO_CLAIMS), null) ?? 'never'
  const next = readLate(reader, (own) => readNextSeason(own, data('next'), endsAt), null)
  const beyond = readLate(reader, (own) => readBeyond(own, data('beyond')), null)
  const xpRules = readXpRules(reader, data('xp'))
  const open = openToClients(xpRules)
  if (open !== null) reader.notice(data('xp').path, open)
  return {
    id: base.id,
    data: base.data,
    type: 'battle-pass',
    display: readDisplay(reader, data).display,
    levels,
    topLevel: levels.at(-1)?.level ?? 0,
    tiers,
    premium,
    premiumXpPercent,
    premiumInstant,
    announcedAt,
    startsAt,
    endingAt,
    endsAt,
    claimUntil,
    atEnd,
    mail: atEnd === 'mail' ? (mail ?? PLAIN_MAIL) : null,
    autoClaim,
    next,
    beyond,
    xpRules,
  }
}

function readAnnouncedAt(reader: Reader, source: RawValue, startsAt: Date | null): Date | null {
  const announcedAt = reader.moment(source)
  if (announcedAt && !startsAt) reader.fault(source.path, 'needs startsAt')
  if (announcedAt && startsAt && announcedAt >= startsAt) reader.fault(source.path, 'must be before startsAt')
  return announcedAt
}

function readEndingAt(
  reader: Reader,
  source: RawValue,
  { startsAt, endsAt }: Pick<PassNode, 'startsAt' | 'endsAt'>,
): Date | null {
  if (source.raw === undefined) return null
  const hours = reader.integer(source, 1n, BigInt(MAX_ENDING_HOURS))
  if (!endsAt) reader.fault(source.path, 'needs endsAt')
  if (!endsAt || hours === undefined) return null
  const endingAt = new Date(endsAt.getTime() - Number(hours) * HOUR_MS)
  if (startsAt && endingAt < startsAt) reader.fault(source.path, 'must not be longer than the season')
  return endingAt
}

/** A member with one of some values; null when it is absent or another one. */
function readOneOf<T extends string>(reader: Reader, source: RawValue, values: readonly T[]): T | null {
  if (source.raw === undefined) return null
  const text = stringOf(source)
  const value = values.find((known) => known === text) ?? null
  if (value === null) reader.fault(source.path, `must be one of ${values.join(', ')}`)
  return value
}

function readAtEnd(reader: Reader, source: RawValue, endsAt: Date | null): AtEnd {
  const atEnd = readOneOf(reader, source, AT_ENDS)
  if (atEnd !== null && atEnd !== 'lose' && !endsAt)
    reader.fault(source.path, 'needs endsAt: without it, claims never close for good')
  return atEnd ?? 'lose'
}

const HOUR_MS = 3_600_000

/** The levels in order; none when one of them is unreadable, so that no tier is blamed for it. */
function readLevels(reader: Reader, source: RawValue): Level[] {
  const levels: Level[] = []
  let areAllNamed = true
  let lastLevel: bigint | undefined
  let lastXp: bigint | undefined
  for (const entry of reader.list(source, { min: 1, max: MAX_LEVELS })) {
    const member = reader.object(entry, ['level', 'xp', ...DISPLAY_MEMBERS])
    const level = reader.integer(member('level'), 1n, BigInt(MAX_LEVEL))
    const xp = reader.integer(member('xp'), 0n, MAX_INT64)
    if (level !== undefined && lastLevel !== undefined && level <= lastLevel)
      reader.fault(`${entry.path}.level`, 'must be higher than the level before it')
    if (xp !== undefined && lastXp !== undefined && xp <= lastXp)
      reader.fault(`${entry.path}.xp`, 'must be more than the xp of the level before it')
    lastLevel = level ?? lastLevel
    lastXp = xp ?? lastXp
    if (level === undefined) areAllNamed = false
    else levels.push({ level: Number(level), xp: xp ?? 0n, display: readDisplay(reader, member).display })
  }
  return areAllNamed ? levels : []
}

function readTier(reader: Reader, source: RawValue): Tier | undefined {
  const tier = reader.object(source, ['level', 'track', 'rewards', ...DISPLAY_MEMBERS])
  const level = reader.integer(tier('level'), 1n, BigInt(MAX_LEVEL))
  const trackText = stringOf(tier('track'))
  const track = TRACKS.find((known) => known === trackText)
  if (!track) reader.unfit(tier('track'), `must be one of ${TRACKS.join(', ')}`)
  const offer = { ...readOffer(reader, tier('rewards')), ...readDisplay(reader, tier) }
  return level === undefined || !track ? undefined : { level: Number(level), track, ...offer }
}

function readPremium(
  reader: Reader,
  source: RawValue,
): Pick<PassNode, 'premium' | 'premiumXpPercent' | 'premiumInstant'> {
  if (source.raw === undefined) return { premium: null, premiumXpPercent: null, premiumInstant: [] }
  const member = reader.object(source, ['price', 'xpPercent', 'instant'])
  const price = reader.object(member('price'), ['currency', 'amount'])
  return {
    premium: {
      currency: readAsset(reader, price('currency')),
      amount: reader.integer(price('amount'), 0n, MAX_INT64) ?? 0n,
    },
    premiumXpPercent: readLate(reader, (own) => readXpPercent(own, member('xpPercent')), null),
    premiumInstant: readLate(reader, (own) => readRewards(own, member('instant'), 0), []),
  }
}

const readXpPercent = (reader: Reader, source: RawValue): bigint | null =>
  source.raw === undefined ? null : (reader.integer(source, 1n, BigInt(MAX_XP_PERCENT)) ?? null)

function readLevelNode(
  reader: Reader,
  data: (name: string) => RawValue,
  brought: BroughtTier[],
): Omit<LevelNode, 'id' | 'data' | 'type'> {
  const numberValue = data('levelNumber')
  // A number or a decimal string: level editors write both.
  const number = reader.integer(
    { ...numberValue, raw: stringOf(numberValue) ?? numberValue.raw },
    1n,
    BigInt(MAX_LEVEL),
  )
  const levelNumber = Number(number ?? 0)
  const passNodeId = reader.text(data('passNodeId'), MAX_ID)
  const rewardsValue = data('rewards')
  if (rewardsValue.raw !== undefined) {
    const rewards = reader.object(rewardsValue, TRACKS)
    for (const track of TRACKS) {
      const source = rewards(track)
      if (source.raw === undefined) continue
      const tier = { level: levelNumber, track, ...readOffer(reader, source) }
      brought.push({ path: source.path, passNodeId, tier })
    }
  }
  return { levelNumber, passNodeId }
}

export function readEdges(
  reader: Reader,
  values: readonly RawValue[],
  nodes: ReadonlyMap<string, Node>,
): Map<string, string[]> {
  const edges = new Map<string, Set<string>>()
  for (const source of values) {
    const edge = reader.object(source, ['from', 'handle', 'to'], { isShared: true })
    const from = reader.text(edge('from'), MAX_ID)
    const handle = reader.text(edge('handle'), MAX_HANDLE)
    const to = reader.text(edge('to'), MAX_ID)
    if (from !== '' && !nodes.has(from)) reader.fault(`${source.path}.from`, `names no node: "${from}"`)
    if (to !== '' && !nodes.has(to)) reader.fault(`${source.path}.to`, `names no node: "${to}"`)
    if (nodes.get(to)?.type === 'start') reader.fault(`${source.path}.to`, 'leads back into the start')
    const node = nodes.get(from)
    const isName = HANDLE.test(handle)
    if (handle !== '' && !isName)
      reader.lateFault(`${source.path}.handle`, 'must be a letter, then letters, digits, _, . or -')
    if (node && isName) checkHandle(reader, `${source.path}.handle`, node, handle)
    if (from === '' || handle === '' || to === '') continue
    const key = edgeKey(from, handle)
    const targets = edges.get(key) ?? new Set()
    if (targets.has(to)) reader.fault(source.path, 'repeats an edge')
    edges.set(key, targets.add(to))
  }
  return new Map([...edges].map(([key, targets]) => [key, [...targets]]))
}

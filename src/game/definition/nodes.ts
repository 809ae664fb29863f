import { kindOf, RawJson } from '../../base/json.ts'
import { HANDLE, MAX_HANDLE, MAX_ID, MAX_LEVEL, MAX_TYPE } from '../../base/limits.ts'
import {
  byDefault,
  integer,
  late,
  name,
  named,
  object,
  oneOf,
  open,
  optional,
  type Part,
  part,
  text,
  withKeywords,
} from '../../declare/document/parts.ts'
import { type Place, type Reader, stringOf } from '../../declare/document/reader.ts'
import { edgeKey, type Node, type NodeBase, REPEATS, TRACKS, type Track } from './definition.ts'
import { isServiceType, type ServiceType } from './handles.ts'
import { passData, readPass } from './pass-data.ts'
import { rewards, tierRewards } from './rewards.ts'
import { type BroughtTier, checkHandle } from './rules.ts'
import { handleRules, serverHandlesOf } from './xp-rules.ts'

/** What nodes bring for the definition as a whole. */
export interface Brought {
  readonly tiers: BroughtTier[]
  /** Reward nodes without a `repeat`. */
  readonly openRepeats: Set<string>
}

/** The data of a type of node that the service runs, and how the node is made of it. */
interface Kind {
  readonly data: Part<unknown>
  readonly read: (reader: Reader, base: NodeBase, data: Place, brought: Brought) => Node
}

const kind = <T>(data: Part<T>, make: (base: NodeBase, data: T, brought: Brought) => Node): Kind => ({
  data,
  read: (reader, base, place, brought) => make(base, data.read(reader, place), brought),
})

const rewardData = named(
  'reward',
  open(
    'The data of a reward node.',
    {
      rewards,
      repeat: late(
        byDefault(
          oneOf(
            REPEATS,
            'How often it pays a player: only once (`never` again), once in each `run`, or `always`. Default: `never` for a node that clients can reach by themselves, by starting a run or by crossing a handle; `always` for any other.',
          ),
          null,
        ),
        null,
      ),
    },
    { isShared: true },
  ),
)

/** The pattern of the decimal digits of a number from 1 to a maximum. */
function digitsUpTo(maximum: number): string {
  const digits = String(maximum)
  const smaller = [...digits].flatMap((digit, at) => {
    const [least, most] = [at === 0 ? 1 : 0, Number(digit) - 1]
    return most < least ? [] : [`${digits.slice(0, at)}[${least}-${most}]\\d{${digits.length - at - 1}}`]
  })
  const shorter = digits.length > 1 ? [`[1-9]\\d{0,${digits.length - 2}}`] : []
  return `^(${[...shorter, ...smaller, digits].join('|')})$`
}

const levelNumber = integer(1, MAX_LEVEL, 'A number.')

const asListed = optional(tierRewards, 'Default: as the pass lists them.')
const trackRewards = { free: asListed, premium: asListed } satisfies Record<Track, Part<unknown>>

const levelData = named(
  'battlePassLevel',
  open(
    'The data of a battle-pass-level node.',
    {
      // Level editors write both.
      levelNumber: part(
        {
          description: 'A level of the pass, as a number or as its decimal digits.',
          anyOf: [levelNumber.schema, { type: 'string', pattern: digitsUpTo(MAX_LEVEL) }],
        },
        (reader, place) => levelNumber.read(reader, { ...place, raw: stringOf(place) ?? place.raw }),
      ),
      passNodeId: text(MAX_ID, 'The battle-pass node whose level it is.'),
      rewards: optional(
        object('Rewards by track.', trackRewards, (given) =>
          TRACKS.flatMap((track) => {
            const offer = given.read(track)
            return offer ? [{ path: given.at(track).path, track, offer }] : []
          }),
        ),
        'The rewards of the tiers of this level. They replace the rewards that the pass lists, also for claims on the pass.',
        [],
      ),
    },
    { isShared: true },
  ),
)

/** Data without members that the service reads. */
const plainData: Part<void> = part({ type: 'object' }, (reader, place) => {
  if (kindOf(place.raw ?? '') !== 'object') reader.unfit(place, 'must be an object')
})

/** The types of nodes that the service runs. */
const KINDS: Readonly<Record<ServiceType, Kind>> = {
  start: kind(plainData, (base) => ({ ...base, type: 'start' })),
  'battle-pass': kind(passData, readPass),
  'battle-pass-level': kind(levelData, (base, data, brought) => {
    const levelNumber = Number(data.read('levelNumber') ?? 0)
    const passNodeId = data.read('passNodeId')
    for (const { path, track, offer } of data.read('rewards'))
      brought.tiers.push({ path, passNodeId, tier: { level: levelNumber, track, ...offer } })
    return { ...base, type: 'battle-pass-level', levelNumber, passNodeId }
  }),
  reward: kind(rewardData, (base, data, brought) => {
    const [rewards, repeat] = [data.read('rewards'), data.read('repeat')]
    if (repeat === null) brought.openRepeats.add(base.id)
    return { ...base, type: 'reward', rewards, repeat: repeat ?? 'always' }
  }),
}

/** The types of nodes that the service runs, whose data has members of its own. */
const withData = Object.entries(KINDS).filter(([, { data }]) => data !== plainData)

const anyData = part(
  { type: ['object', 'null'], description: 'Passed to the client unchanged when the node is entered.' },
  (_reader, { raw = '{}' }) => new RawJson(raw),
)

export const node = named(
  'node',
  open(
    'A node.',
    {
      id: name(MAX_ID, 'Unique in the scenario. The state of players is stored under it, so it should never change.'),
      type: withKeywords(text(MAX_TYPE, 'A type that the service runs, or any other type, which the client runs.'), {
        examples: [...Object.keys(KINDS), 'popup'],
      }),
      handles: handleRules,
      data: { ...anyData, isRequired: false },
    },
    {
      isShared: true,
      rules: {
        allOf: withData.map(([type, { data }]) => ({
          if: { properties: { type: { const: type } }, required: ['type'] },
          // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema.
          then: { required: ['data'], properties: { data: data.schema } },
        })),
      },
      uses: withData.map(([, { data }]) => data),
    },
  ),
)

export function readNode(reader: Reader, place: Place, brought: Brought): Node {
  const given = node.read(reader, place)
  const id = given.read('id')
  const type = given.read('type')
  const serverHandles = serverHandlesOf(given.read('handles'))
  const base = { id, data: given.read('data') }
  const data = { path: given.at('data').path, raw: base.data.text }
  if (isServiceType(type)) {
    if (serverHandles.size > 0)
      reader.lateFault(given.at('handles').path, 'must be absent: the service crosses the handles of this node')
    return KINDS[type].read(reader, base, data, brought)
  }
  plainData.read(reader, data)
  return { ...base, type: 'client', clientType: type, serverHandles }
}

export const edge = named(
  'edge',
  object(
    'An edge. No two edges are the same.',
    {
      from: text(MAX_ID, 'The node that crosses the handle.'),
      handle: withKeywords(text(MAX_HANDLE, 'A handle that the node crosses.'), {
        pattern: HANDLE.source,
        examples: ['onStart', 'onLevelUp', 'onMaxLevel', 'onPremiumPurchase', 'onComplete'],
      }),
      to: text(MAX_ID, 'The node that the crossing enters.'),
    },
    (given) => ({ from: given.read('from'), handle: given.read('handle'), to: given.read('to') }),
    { isShared: true },
  ),
)

export function readEdges(
  reader: Reader,
  places: readonly Place[],
  nodes: ReadonlyMap<string, Node>,
): Map<string, string[]> {
  const edges = new Map<string, Set<string>>()
  for (const place of places) {
    const { from, handle, to } = edge.read(reader, place)
    const { path } = place
    if (from !== '' && !nodes.has(from)) reader.fault(`${path}.from`, `names no node: "${from}"`)
    if (to !== '' && !nodes.has(to)) reader.fault(`${path}.to`, `names no node: "${to}"`)
    if (nodes.get(to)?.type === 'start') reader.fault(`${path}.to`, 'leads back into the start')
    const node = nodes.get(from)
    const isName = HANDLE.test(handle)
    if (handle !== '' && !isName)
      reader.lateFault(`${path}.handle`, 'must be a letter, then letters, digits, _, . or -')
    if (node && isName) checkHandle(reader, `${path}.handle`, node, handle)
    if (from === '' || handle === '' || to === '') continue
    const key = edgeKey(from, handle)
    const targets = edges.get(key) ?? new Set()
    if (targets.has(to)) reader.fault(path, 'repeats an edge')
    edges.set(key, targets.add(to))
  }
  return new Map([...edges].map(([key, targets]) => [key, [...targets]]))
}

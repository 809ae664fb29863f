import {
  applyChanges,
  type Change,
  insertValues,
  RawText,
  removeItems,
  replace,
  setMember,
  type Value,
} from '../text/json-edit.ts'
import {
  itemsOf,
  type JsonArray,
  type JsonNode,
  type JsonObject,
  numberTextOf,
  stringOf,
  valueAt,
} from '../text/json-tree.ts'
import { type Definition, type NodeModel, type Reward, rewardsOf, TRACKS, type Track } from './definition.ts'
import { type Edit, inTurn } from './edits.ts'
import { changeRewards, NOTHING, readRewards, rewardsText, rewardValue } from './rewards.ts'

// A battle pass as a table: a row for each level, with the rewards of both tracks.

export const COLUMNS = ['level', 'xp', 'free', 'premium'] as const
export type Column = (typeof COLUMNS)[number]
/** The texts of a row's cells. An empty cell of a track is no tier. */
export type Cells = Readonly<Record<Column, string>>

export interface PassRow {
  /** The place in `levels`. Undefined for tiers at a level that the pass does not have. */
  readonly index: number | undefined
  readonly cells: Cells
  /** The level nodes that set the rewards of a track, instead of the pass. */
  readonly setBy: Readonly<Record<Track, readonly string[]>>
}

interface Tier {
  readonly index: number
  readonly level: string
  readonly track: Track
  readonly value: JsonObject
}

const integerText = (node: JsonNode | undefined): string => numberTextOf(node) ?? stringOf(node) ?? ''

export const passesOf = ({ nodes }: Definition): readonly NodeModel[] =>
  nodes.filter(({ type }) => type === 'battle-pass')

function tiersOf(pass: NodeModel): Tier[] {
  return itemsOf(valueAt(pass.data, 'tiers')).flatMap((value, index): Tier[] => {
    const track = TRACKS.find((one) => one === stringOf(valueAt(value, 'track')))
    return value.kind === 'object' && track
      ? [{ index, level: integerText(valueAt(value, 'level')), track, value }]
      : []
  })
}

/** The lists of rewards that level nodes set for the tiers of a pass, by level and track. */
function listsOfLevelNodes({ nodes }: Definition, passId: string) {
  const lists = new Map<string, { nodeId: string; list: JsonArray }[]>()
  for (const { id, type, data } of nodes) {
    if (type !== 'battle-pass-level' || stringOf(valueAt(data, 'passNodeId')) !== passId) continue
    for (const track of TRACKS) {
      const list = valueAt(valueAt(data, 'rewards'), track)
      if (list?.kind !== 'array') continue
      const key = `${integerText(valueAt(data, 'levelNumber'))} ${track}`
      lists.set(key, [...(lists.get(key) ?? []), { nodeId: id, list }])
    }
  }
  return lists
}

export function rowsOf(definition: Definition, pass: NodeModel): PassRow[] {
  const tiers = new Map<string, Tier>()
  for (const tier of tiersOf(pass)) tiers.set(`${tier.level} ${tier.track}`, tier)
  const lists = listsOfLevelNodes(definition, pass.id)
  const rewardsAt = (level: string, track: Track): string => {
    const set = lists.get(`${level} ${track}`)?.[0]
    if (set) return rewardsText(rewardsOf(set.list))
    const tier = tiers.get(`${level} ${track}`)
    return tier ? rewardsText(rewardsOf(valueAt(tier.value, 'rewards'))) : ''
  }
  const row = (index: number | undefined, level: string, xp: string): PassRow => ({
    index,
    cells: { level, xp, free: rewardsAt(level, 'free'), premium: rewardsAt(level, 'premium') },
    setBy: {
      free: lists.get(`${level} free`)?.map(({ nodeId }) => nodeId) ?? [],
      premium: lists.get(`${level} premium`)?.map(({ nodeId }) => nodeId) ?? [],
    },
  })
  const levels = itemsOf(valueAt(pass.data, 'levels')).map((value, index) =>
    row(index, integerText(valueAt(value, 'level')), integerText(valueAt(value, 'xp'))),
  )
  const known = new Set(levels.map(({ cells }) => cells.level))
  const strays = new Set([...tiers.values()].map(({ level }) => level).filter((level) => !known.has(level)))
  return [...levels, ...[...strays].map((level) => row(undefined, level, ''))]
}

const INTEGER = /^(0|[1-9]\d*)$/

/** The fault of a cell's text; undefined for none. The service checks the rest. */
export function faultOfCell(column: Column, text: string): string | undefined {
  if (column === 'level' || column === 'xp')
    return INTEGER.test(text) ? undefined : 'Enter a whole number, without spaces or points.'
  if (text.trim() === '' || readRewards(text)) return undefined
  return `Write rewards as 50 gold, 1 item:sword, 100% xp for 60 min, and a choice as one of (1 item:red | 1 item:blue). Leave the cell empty for no tier, or write ${NOTHING} for a tier without rewards.`
}

/** Changes one cell of a row. The tiers of a level follow its number. */
export const setCell =
  (pass: NodeModel, row: PassRow, column: Column, text: string): Edit =>
  (definition) => {
    if (faultOfCell(column, text) !== undefined) return definition.text
    if (column === 'free' || column === 'premium')
      return setTiers(pass.id, [{ level: row.cells.level, track: column, text }])(definition)
    if (row.index === undefined) return definition.text
    const level = itemsOf(valueAt(pass.data, 'levels'))[row.index]
    if (level?.kind !== 'object' || row.cells[column] === text) return definition.text
    const changes = [setMember(definition.text, level, column, new RawText(text))]
    if (column === 'level') changes.push(...renumber(definition, pass, row.cells.level, text))
    return applyChanges(definition.text, changes)
  }

/** Gives the tiers and the level nodes of a level its new number. */
function renumber({ text, nodes }: Definition, pass: NodeModel, from: string, to: string): Change[] {
  const levels = itemsOf(valueAt(pass.data, 'levels')).filter((one) => integerText(valueAt(one, 'level')) === from)
  if (levels.length > 1) return []
  return [
    ...tiersOf(pass)
      .filter(({ level }) => level === from)
      .map(({ value }) => setMember(text, value, 'level', new RawText(to))),
    ...nodes.flatMap(({ type, data }) => {
      const number = valueAt(data, 'levelNumber')
      const isOwn = type === 'battle-pass-level' && stringOf(valueAt(data, 'passNodeId')) === pass.id
      if (!isOwn || !number || integerText(number) !== from) return []
      return [replace(text, number, number.kind === 'string' ? to : new RawText(to))]
    }),
  ]
}

interface TierCell {
  readonly level: string
  readonly track: Track
  readonly text: string
}

/** Changes the rewards of tiers, all at once. Rewards that a level node sets are changed in that node. */
const setTiers =
  (passId: string, cells: readonly TierCell[]): Edit =>
  (definition) => {
    const pass = definition.byId.get(passId)
    if (!pass) return definition.text
    const { text } = definition
    const lists = listsOfLevelNodes(definition, passId)
    const tiers = new Map(tiersOf(pass).map((tier) => [`${tier.level} ${tier.track}`, tier]))
    const changes: Change[] = []
    const removed = new Set<number>()
    const added: TierCell[] = []
    for (const cell of cells) {
      const key = `${cell.level} ${cell.track}`
      const rewards = cell.text.trim() === '' ? undefined : readRewards(cell.text)
      const tier = tiers.get(key)
      const set = lists.get(key)
      if (set) {
        for (const { list } of set) changes.push(...changeRewards(text, list, rewards ?? []))
      } else if (!rewards) {
        if (tier) removed.add(tier.index)
      } else if (tier) {
        const list = valueAt(tier.value, 'rewards')
        if (list?.kind === 'array') changes.push(...changeRewards(text, list, rewards))
        else if (rewards.length > 0) changes.push(setMember(text, tier.value, 'rewards', rewards.map(rewardValue)))
      } else {
        added.push(cell)
      }
    }
    const list = valueAt(pass.data, 'tiers')
    if (list?.kind === 'array') changes.push(...removeItems(list, removed))
    return inTurn((before) => applyChanges(before.text, changes), addTiers(passId, added))(definition)
  }

const addTiers =
  (passId: string, cells: readonly TierCell[]): Edit =>
  ({ text, byId }) => {
    const pass = byId.get(passId)
    if (!pass?.data || cells.length === 0) return text
    const value = ({ level, track, text: cell }: TierCell) => tierValue(level, track, readRewards(cell) ?? [])
    const list = valueAt(pass.data, 'tiers')
    if (list?.kind !== 'array') return applyChanges(text, [setMember(text, pass.data, 'tiers', cells.map(value))])
    const byPlace = new Map<number, TierCell[]>()
    for (const cell of cells) {
      const place = placeOfTier(pass, cell.level, cell.track)
      byPlace.set(place, [...(byPlace.get(place) ?? []), cell])
    }
    return applyChanges(
      text,
      [...byPlace].map(([place, some]) => insertValues(text, list, place, some.map(value))),
    )
  }

const tierValue = (level: string, track: Track, rewards: readonly Reward[]): Value => ({
  level: new RawText(level),
  track,
  rewards: rewards.map(rewardValue),
})

/** The place after the last tier of its track at a lower level, so that the list stays in order. */
function placeOfTier(pass: NodeModel, level: string, track: Track): number {
  const tiers = tiersOf(pass)
  const before = tiers.findLast(
    (tier) => tier.track === track && INTEGER.test(tier.level) && BigInt(tier.level) < BigInt(level),
  )
  if (before) return before.index + 1
  return tiers.find((tier) => tier.track === track)?.index ?? itemsOf(valueAt(pass.data, 'tiers')).length
}

/** The next row of a table: one level higher, with the same distance of xp. */
export function nextCells(rows: readonly PassRow[]): Cells {
  const levels = rows.filter(({ index }) => index !== undefined)
  const [before, last] = [levels.at(-2)?.cells, levels.at(-1)?.cells]
  const number = (text: string | undefined) => (text !== undefined && INTEGER.test(text) ? BigInt(text) : 0n)
  if (!last) return { level: '1', xp: '0', free: '', premium: '' }
  const step = before ? number(last.xp) - number(before.xp) : 100n
  return {
    level: String(number(last.level) + 1n),
    xp: String(number(last.xp) + (step > 0n ? step : 100n)),
    free: '',
    premium: '',
  }
}

export const addLevels =
  (pass: NodeModel, added: readonly Cells[]): Edit =>
  (definition) => {
    const { text } = definition
    const levels = valueAt(pass.data, 'levels')
    const values = added.map(({ level, xp }) => ({ level: new RawText(level), xp: new RawText(xp) }))
    if (levels?.kind === 'array') return applyChanges(text, [insertValues(text, levels, levels.items.length, values)])
    if (pass.data) return applyChanges(text, [setMember(text, pass.data, 'levels', values)])
    return applyChanges(text, [setMember(text, pass.value, 'data', { levels: values })])
  }

export const removeLevels =
  (pass: NodeModel, rows: readonly PassRow[]): Edit =>
  (definition) => {
    const levels = valueAt(pass.data, 'levels')
    const tiers = valueAt(pass.data, 'tiers')
    const numbers = new Set(rows.map(({ cells }) => cells.level))
    const gone = new Set(rows.flatMap(({ index }) => (index === undefined ? [] : [index])))
    const lost = new Set(tiersOf(pass).flatMap(({ index, level }) => (numbers.has(level) ? [index] : [])))
    return applyChanges(definition.text, [
      ...(levels?.kind === 'array' ? removeItems(levels, gone) : []),
      ...(tiers?.kind === 'array' ? removeItems(tiers, lost) : []),
    ])
  }

/** Replaces the rows of a pass by those of a table. Rows are matched by their level. */
export const setRows =
  (passId: string, table: readonly Cells[]): Edit =>
  (definition) => {
    const pass = definition.byId.get(passId)
    if (!pass) return definition.text
    const rows = rowsOf(definition, pass)
    const wanted = new Set(table.map(({ level }) => level))
    const known = new Set(rows.flatMap(({ index, cells }) => (index === undefined ? [] : [cells.level])))
    const gone = rows.filter(({ cells }) => !wanted.has(cells.level))
    const added = table.filter(({ level }) => !known.has(level))
    return inTurn(
      onPass(passId, (own) => removeLevels(own, gone)),
      ...(added.length > 0 ? [onPass(passId, (own) => addLevels(own, added)), onPass(passId, sortLevels)] : []),
      onPass(passId, (own) => setXp(own, new Map(table.map(({ level, xp }) => [level, xp])))),
      setTiers(
        passId,
        table.flatMap((cells) => TRACKS.map((track) => ({ level: cells.level, track, text: cells[track] }))),
      ),
    )(definition)
  }

const onPass =
  (passId: string, edit: (pass: NodeModel) => Edit): Edit =>
  (definition) => {
    const pass = definition.byId.get(passId)
    return pass ? edit(pass)(definition) : definition.text
  }

const setXp =
  (pass: NodeModel, xpOf: ReadonlyMap<string, string>): Edit =>
  ({ text }) =>
    applyChanges(
      text,
      itemsOf(valueAt(pass.data, 'levels')).flatMap((level) => {
        const xp = xpOf.get(integerText(valueAt(level, 'level')))
        if (level.kind !== 'object' || xp === undefined || xp === integerText(valueAt(level, 'xp'))) return []
        return [setMember(text, level, 'xp', new RawText(xp))]
      }),
    )

/** Sorts the levels. The text between them stays in place. */
const sortLevels =
  (pass: NodeModel): Edit =>
  ({ text }) => {
    const levels = itemsOf(valueAt(pass.data, 'levels'))
    const number = (level: JsonNode) => {
      const digits = integerText(valueAt(level, 'level'))
      return INTEGER.test(digits) ? BigInt(digits) : 0n
    }
    const sorted = [...levels].sort((a, b) => (number(a) < number(b) ? -1 : number(a) > number(b) ? 1 : 0))
    return applyChanges(
      text,
      levels.flatMap(({ from, to }, at) => {
        const other = sorted[at]
        return other && other.from !== from ? [{ from, to, insert: text.slice(other.from, other.to) }] : []
      }),
    )
  }

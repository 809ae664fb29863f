import { MAX_INT64 } from '../../base/json.ts'
import { MAX_ASSET, MAX_ENDING_HOURS, MAX_LEVEL, MAX_LEVELS, MAX_XP_PERCENT } from '../../base/limits.ts'
import { moment } from '../../declare/document/moment.ts'
import {
  byDefault,
  integer,
  late,
  type Members,
  name,
  named,
  object,
  oneOf,
  open,
  optional,
  type Part,
  places,
  readLate,
  type ValuesOf,
} from '../../declare/document/parts.ts'
import { beyond } from './beyond.ts'
import {
  AT_ENDS,
  AUTO_CLAIMS,
  type Level,
  type NodeBase,
  type PassNode,
  type Tier,
  type TierKey,
  TRACKS,
  tierKey,
} from './definition.ts'
import { displayParts, readDisplay } from './display.ts'
import { nextSeason } from './next-season.ts'
import { grants, NO_OFFER, tierRewards } from './rewards.ts'
import { mail, PLAIN_MAIL } from './season-mail.ts'
import { openToClients, xpRules } from './xp-rules.ts'

// The data of a battle-pass node.

const levelNumber = (description: string): Part<bigint | undefined> => integer(1, MAX_LEVEL, description)

const level = named(
  'level',
  object(
    'A level.',
    {
      level: levelNumber('Its number.'),
      xp: integer(0, MAX_INT64, 'The total xp that reaches it.'),
      ...displayParts,
    },
    (given) => ({ level: given.read('level'), xp: given.read('xp'), display: readDisplay(given).display }),
  ),
)

const levelList = places(level, { min: 1, max: MAX_LEVELS }, 'By rising level and rising xp.')

/** The levels in order; none when one of them is unreadable, so that no tier is blamed for it. */
const levels: Part<Level[]> = {
  ...levelList,
  read(reader, place) {
    const levels: Level[] = []
    let areAllNamed = true
    let last: { readonly level?: bigint | undefined; readonly xp?: bigint | undefined } = {}
    for (const one of levelList.read(reader, place)) {
      const { level: number, xp, display } = level.read(reader, one)
      if (number !== undefined && last.level !== undefined && number <= last.level)
        reader.fault(`${one.path}.level`, 'must be higher than the level before it')
      if (xp !== undefined && last.xp !== undefined && xp <= last.xp)
        reader.fault(`${one.path}.xp`, 'must be more than the xp of the level before it')
      last = { level: number ?? last.level, xp: xp ?? last.xp }
      if (number === undefined) areAllNamed = false
      else levels.push({ level: Number(number), xp: xp ?? 0n, display })
    }
    return areAllNamed ? levels : []
  },
}

const tier = named(
  'tier',
  object(
    'The rewards that can be claimed at a level on a track.',
    {
      level: levelNumber('The level that opens the tier: one of the levels of this pass.'),
      track: oneOf(TRACKS, 'A premium tier is for owners of premium.'),
      rewards: optional(tierRewards, 'Default: nothing.', NO_OFFER),
      ...displayParts,
    },
    (given): Tier | undefined => {
      const [level, track] = [given.read('level'), given.read('track')]
      const offer = { ...given.read('rewards'), ...readDisplay(given) }
      return level === undefined || !track ? undefined : { level: Number(level), track, ...offer }
    },
  ),
)

const tiers = places(tier, { max: TRACKS.length * MAX_LEVELS }, 'At most one for each level and track.')

const price = named(
  'price',
  object(
    'A price.',
    {
      currency: name(MAX_ASSET, 'A currency of the wallet.'),
      amount: integer(0, MAX_INT64, 'The amount; 0 makes premium free.'),
    },
    (given) => ({ currency: given.read('currency'), amount: given.read('amount') ?? 0n }),
  ),
)

const premium = named(
  'premium',
  object(
    'The price of premium, and what it brings besides the premium track.',
    {
      price,
      xpPercent: late(
        optional(
          integer(1, MAX_XP_PERCENT, 'A percentage.'),
          'What owners get on top of each xp that clients and servers give, rounded down. Default: nothing.',
        ),
        null,
      ),
      instant: late(
        optional(
          grants('The rewards. The purchase grants all of them.', 0),
          'What the purchase grants at once. Default: nothing.',
          [],
        ),
        [],
      ),
    },
    (given) => ({
      price: given.read('price'),
      xpPercent: given.read('xpPercent') ?? null,
      instant: given.read('instant'),
    }),
  ),
)

const passParts = {
  levels,
  tiers: optional(tiers, 'Default: none.', []),
  premium: optional(premium, 'Without it there is no premium track.'),
  announcedAt: optional(moment, 'From this moment on the season is announced: before `startsAt`. Default: it is not.'),
  startsAt: optional(moment, 'Xp, claims and premium are open from this moment on. Default: always.'),
  endingHours: optional(
    integer(1, MAX_ENDING_HOURS, 'A number of hours.'),
    'For these hours before `endsAt` the season is about to end. Default: for none.',
  ),
  endsAt: optional(moment, 'The first moment without xp and premium. Default: none.'),
  claimUntil: optional(moment, 'The first moment without claims. Default: `endsAt`.'),
  atEnd: byDefault(
    oneOf(
      AT_ENDS,
      'What becomes of tiers that a player earned and did not claim, at `claimUntil`: they are lost, granted, or mailed to the inbox of the player. Default: lose.',
    ),
    'lose',
  ),
  mail: optional(mail, 'The message with these tiers: it needs `atEnd` with the value `mail`.'),
  autoClaim: late(
    byDefault(
      oneOf(
        AUTO_CLAIMS,
        'With `always`, xp that reaches a tier claims it, and so does the purchase of premium. Default: never.',
      ),
      'never',
    ),
    'never',
  ),
  next: optional(nextSeason, 'What follows the season: it needs `endsAt`. Default: nothing.'),
  beyond: late(optional(beyond, 'What xp above the top level brings. Default: nothing.'), null),
  xp: xpRules,
  ...displayParts,
}
type Given = Members<ValuesOf<typeof passParts>>

export const passData = named('battlePass', open('The data of a battle-pass node.', passParts, { isShared: true }))

/** In full, not put together by spreads: V8 has one form of object for the passes of all definitions. */
export function readPass({ id, data }: NodeBase, given: Given): PassNode {
  const levels = given.read('levels')
  const premium = given.read('premium')
  const tiers = readTiers(given, { levels, isSold: premium !== null })
  const startsAt = given.read('startsAt')
  const endsAt = given.read('endsAt')
  const claimUntil = given.read('claimUntil') ?? endsAt
  if (startsAt && endsAt && startsAt >= endsAt) given.fault('endsAt', 'must be after startsAt')
  if (claimUntil && !endsAt)
    given.reader.lateFault(given.at('claimUntil').path, 'needs endsAt: without it, the season never ends')
  if (endsAt && claimUntil && claimUntil < endsAt) given.fault('claimUntil', 'must not be before endsAt')
  const dates = { startsAt, endsAt }
  const announcedAt = readLate(given, (own) => readAnnouncedAt(own, dates), null)
  const endingAt = readLate(given, (own) => readEndingAt(own, dates), null)
  const atEnd = readLate(given, (own) => readAtEnd(own, dates), 'lose')
  const mail = readLate(given, (own) => readMail(own, atEnd === 'mail'), null)
  const autoClaim = given.read('autoClaim')
  const next = readLate(given, (own) => readNext(own, dates), null)
  const beyond = given.read('beyond')
  const xpRules = given.read('xp')
  const danger = openToClients(xpRules)
  if (danger !== null) given.reader.notice(given.at('xp').path, danger)
  return {
    id,
    data,
    type: 'battle-pass',
    display: readDisplay(given).display,
    levels,
    topLevel: levels.at(-1)?.level ?? 0,
    tiers,
    premium: premium?.price ?? null,
    premiumXpPercent: premium?.xpPercent ?? null,
    premiumInstant: premium?.instant ?? [],
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

function readTiers(
  given: Given,
  { levels, isSold }: { readonly levels: readonly Level[]; readonly isSold: boolean },
): Map<TierKey, Tier> {
  const { reader } = given
  const known = new Set(levels.map(({ level }) => level))
  const found = new Map<TierKey, Tier>()
  for (const one of given.read('tiers')) {
    const read = tier.read(reader, one)
    if (!read) continue
    const { level, track } = read
    if (levels.length > 0 && !known.has(level))
      reader.fault(`${one.path}.level`, `names no level of this pass: ${level}`)
    if (found.has(tierKey(level, track))) reader.fault(one.path, `repeats the ${track} tier of level ${level}`)
    if (track === 'premium' && !isSold) reader.fault(one.path, 'is a premium tier of a pass without premium')
    found.set(tierKey(level, track), read)
  }
  return found
}

type Dates = Pick<PassNode, 'startsAt' | 'endsAt'>

function readAnnouncedAt(given: Given, { startsAt }: Dates): Date | null {
  const announcedAt = given.read('announcedAt')
  if (announcedAt && !startsAt) given.fault('announcedAt', 'needs startsAt')
  if (announcedAt && startsAt && announcedAt >= startsAt) given.fault('announcedAt', 'must be before startsAt')
  return announcedAt
}

const HOUR_MS = 3_600_000

function readEndingAt(given: Given, { startsAt, endsAt }: Dates): Date | null {
  if (!given.has('endingHours')) return null
  const hours = given.read('endingHours')
  if (!endsAt) given.fault('endingHours', 'needs endsAt')
  if (!endsAt || !hours) return null
  const endingAt = new Date(endsAt.getTime() - Number(hours) * HOUR_MS)
  if (startsAt && endingAt < startsAt) given.fault('endingHours', 'must not be longer than the season')
  return endingAt
}

function readAtEnd(given: Given, { endsAt }: Dates): PassNode['atEnd'] {
  const atEnd = given.read('atEnd')
  if (atEnd !== 'lose' && !endsAt) given.fault('atEnd', 'needs endsAt: without it, claims never close for good')
  return atEnd
}

function readMail(given: Given, isMailed: boolean): PassNode['mail'] {
  if (given.has('mail') && !isMailed) given.fault('mail', 'needs atEnd with the value mail')
  return given.read('mail')
}

function readNext(given: Given, { endsAt }: Dates): PassNode['next'] {
  const next = given.read('next')
  if (next && !endsAt) given.fault('next', 'needs endsAt: without it, the season never ends')
  return next
}

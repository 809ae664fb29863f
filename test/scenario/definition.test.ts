import { describe, expect, it } from 'vitest'
import { type Json, MAX_INT64, print } from '../../src/base/json.ts'
import { demoSeason, rankedSeason } from '../../src/dev/season.ts'
import { nextNodes } from '../../src/game/definition/definition.ts'
import { parseDefinition, validateDefinition } from '../../src/game/definition/parse.ts'
import { gold, passNode, scenario, tier } from '../harness/definitions.ts'

const levelNode = (data: Json): Json => ({ id: 'level', type: 'battle-pass-level', data })
const reward = (id: string, rewards: readonly Json[] = [gold(1)]): Json => ({ id, type: 'reward', data: { rewards } })
const GEMS = { currency: 'gems', amount: 950 }
const edge = (from: string, handle: string, to: string): Json => ({ from, handle, to })

function faultsOf(definition: Json | string) {
  const parsed = parseDefinition(typeof definition === 'string' ? definition : print(definition))
  return parsed.ok ? [] : parsed.faults.map(({ path, message }) => `${path}: ${message}`)
}

/** Not the notice of a pass that takes any xp from clients, which has a test of its own. */
const isOther = ({ message }: { message: string }) => !message.includes('a modified client')

describe('a valid definition', () => {
  it('is parsed into levels, tiers, price, dates and edges, with the data of client nodes as it was sent', () => {
    const text = `{"name":"S","start":"start","nodes":[{"id":"start","type":"start"},
      {"id":"pass","type":"battle-pass","data":{"levels":[{"level":1,"xp":0},{"level":3,"xp":9223372036854775807}],
        "tiers":[{"level":3,"track":"premium","rewards":[{"itemId":"hat","amount":9007199254740993}]}],
        "premium":{"price":{"currency":"gems","amount":950}},"startsAt":"2026-12-01T00:00:00Z","endsAt":"2027-02-01T00:00:00+01:00"}},
      {"id":"level","type":"battle-pass-level","data":{"levelNumber":"3","passNodeId":"pass","rewards":{"free":[{"currency":"gold","amount":1}]}}},
      {"id":"popup","type":"popup","data":{ "b":1.0, "a":1e2 }}],
      "edges":[{"from":"start","handle":"onStart","to":"pass"},{"from":"start","handle":"onStart","to":"level"}]}`
    const parsed = parseDefinition(text)
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults))
    const pass = parsed.definition.nodes.get('pass')
    expect(pass).toMatchObject({
      topLevel: 3,
      levels: [
        { level: 1, xp: 0n },
        { level: 3, xp: MAX_INT64 },
      ],
      premium: { currency: 'gems', amount: 950n },
      premiumXpPercent: null,
      premiumInstant: [],
      endsAt: new Date('2027-01-31T23:00:00Z'),
      claimUntil: new Date('2027-01-31T23:00:00Z'),
    })
    if (pass?.type !== 'battle-pass') throw new Error('not a pass')
    expect(pass.tiers.get('premium:3')?.rewards).toEqual([{ currency: null, itemId: 'hat', amount: 9007199254740993n }])
    expect(parsed.definition.nodes.get('level')).toMatchObject({ levelNumber: 3, passNodeId: 'pass' })
    expect(pass.tiers.get('free:3')?.rewards).toEqual([{ currency: 'gold', itemId: null, amount: 1n }])
    expect(parsed.definition.nodes.get('popup')).toMatchObject({
      type: 'client',
      clientType: 'popup',
      data: { text: '{ "b":1.0, "a":1e2 }' },
    })
    expect(nextNodes(parsed.definition, 'start', 'onStart')).toEqual(['pass', 'level'])
  })

  it.each(['constructor', '__proto__', 'toString'])(
    'hands a node of the type %s to the client as any other',
    (type) => {
      const parsed = parseDefinition(print(scenario([{ id: 'a', type, data: { rewards: 1 } }], [])))
      expect(parsed.ok && parsed.definition.nodes.get('a')).toMatchObject({ type: 'client', clientType: type })
    },
  )

  it('takes the rewards of a tier from its level nodes, which must agree, and adds a notice (contract 12)', () => {
    const level = (id: string, rewards: Json): Json => ({
      id,
      type: 'battle-pass-level',
      data: { levelNumber: 2, passNodeId: 'p', rewards },
    })
    const nodes = [
      level('a', { free: [gold(7)] }),
      passNode('p', { tiers: [tier(2, 'free'), tier(2, 'premium')] }),
      level('b', { free: [gold(7)], premium: [] }),
    ]
    const parsed = parseDefinition(print(scenario(nodes, [])))
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults))
    const pass = parsed.definition.nodes.get('p')
    expect(pass?.type === 'battle-pass' && [...pass.tiers]).toMatchObject([
      ['free:2', { rewards: [{ currency: 'gold', amount: 7n }] }],
      ['premium:2', { rewards: [] }],
    ])
    const message = (track: string) => `replaces what the pass lists for the ${track} tier of level 2`
    expect(parsed.notices.filter(isOther)).toEqual([
      { path: 'nodes[1].data.rewards.free', message: message('free') },
      { path: 'nodes[3].data.rewards.premium', message: message('premium') },
    ])

    const differing = print(scenario([...nodes, level('c', { free: [gold(8)] })], []))
    expect(faultsOf(differing)).toEqual([
      'nodes[4].data.rewards.free: differs from nodes[1].data.rewards.free: the free tier of level 2 has one list of rewards',
    ])
    // A definition that was published before this rule keeps working, with the first list.
    const stored = parseDefinition(differing, { isStored: true })
    const old = stored.ok && stored.definition.nodes.get('p')
    expect(old && old.type === 'battle-pass' && old.tiers.get('free:2')?.rewards).toMatchObject([{ amount: 7n }])
  })

  it('may have JSON escapes in its words', () => {
    const escaped = print(
      scenario([passNode('p', { tiers: [tier(1, 'free')] }), levelNode({ levelNumber: '1', passNodeId: 'p' })], []),
    )
      .replace('"free"', '"\\u0066ree"')
      .replace('"levelNumber":"1"', '"levelNumber":"\\u0031"')
    expect(escaped).toContain('\\u0031')
    expect(faultsOf(escaped)).toEqual([])
  })

  it('keeps edges apart when an id contains a newline', () => {
    const parsed = parseDefinition(
      print(
        scenario(
          [
            { id: 'b\na', type: 'popup' },
            { id: 'a', type: 'popup' },
            { id: 'b', type: 'popup' },
          ],
          [edge('b\na', 'x', 'a'), edge('b', 'a', 'b'), edge('a', 'x', 'b')],
        ),
      ),
    )
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults))
    expect(nextNodes(parsed.definition, 'b\na', 'x')).toEqual(['a'])
    expect(nextNodes(parsed.definition, 'b', 'a')).toEqual(['b'])
    expect(nextNodes(parsed.definition, 'a', 'x')).toEqual(['b'])
  })

  it('may have no edges, no tiers, tiers without rewards and a price of 0 (contract 12)', () => {
    const bare = { id: 'p', type: 'battle-pass', data: { levels: [{ level: 1, xp: 0 }], tiers: null } }
    expect(faultsOf({ name: 'Bare', start: 'p', nodes: [bare] })).toEqual([])
    const free = passNode('p', { price: { currency: 'gems', amount: 0 }, tiers: [tier(1, 'premium', [])] })
    expect(faultsOf({ name: 'Free', start: 'p', nodes: [free], edges: null })).toEqual([])
    const silent = {
      id: 'p',
      type: 'battle-pass',
      data: { levels: [{ level: 1, xp: 0 }], tiers: [{ level: 1, track: 'free' }] },
    }
    expect(faultsOf({ name: 'Silent', start: 'p', nodes: [silent] })).toEqual([])
  })

  it.each([demoSeason, rankedSeason])('is returned by %o', (seasonOfDemo) => {
    expect(faultsOf(seasonOfDemo())).toEqual([])
  })
})

describe('the notices of a definition', () => {
  const noticesOf = (nodes: readonly Json[], { edges = [], top = '' }: { edges?: Json[]; top?: string } = {}) => {
    const text = print(scenario([...nodes], edges))
    const parsed = parseDefinition(`${text.slice(0, -1)}${top}}`)
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults))
    return parsed.notices.filter(isOther).map(({ path, message }) => `${path}: ${message}`)
  }
  const ignored = (meant: string) => `is ignored: no rule knows this member; did you mean ${meant}?`
  const popup = (data: Record<string, Json>): Json => ({ id: 'c', type: 'popup', data })
  const pass = (data: Record<string, Json>): Json => ({
    id: 'p',
    type: 'battle-pass',
    data: { levels: [{ level: 1, xp: 0 }], ...data },
  })

  it.each<[string, Json[], string[]]>([
    [
      'a misspelt block of a pass',
      [pass({ premuim: {}, startAt: null })],
      [`nodes[1].data.premuim: ${ignored('premium')}`, `nodes[1].data.startAt: ${ignored('startsAt')}`],
    ],
    [
      'a member of premium, of the price and of a reward',
      [
        pass({
          premium: { price: { currency: 'gems', amount: 1, ammount: 2 }, currency: 'gold' },
          tiers: [{ level: 1, track: 'free', rewards: [{ currency: 'gold', amount: 1, itemID: 'hat' }], reward: [] }],
        }),
      ],
      [
        'nodes[1].data.premium.currency: is ignored: no rule knows this member; known are price, xpPercent, instant',
        `nodes[1].data.premium.price.ammount: ${ignored('amount')}`,
        `nodes[1].data.tiers[0].reward: ${ignored('rewards')}`,
        `nodes[1].data.tiers[0].rewards[0].itemID: ${ignored('itemId')}`,
      ],
    ],
    [
      'a member of a level',
      [{ id: 'p', type: 'battle-pass', data: { levels: [{ level: 1, xp: 0, XP: 5 }] } }],
      [`nodes[1].data.levels[0].XP: ${ignored('xp')}`],
    ],
    [
      'white space around an id and a currency',
      [pass({ premium: { price: { currency: ' gold', amount: 1 } } }), { id: 'shop ', type: 'popup' }],
      [
        'nodes[1].data.premium.price.currency: begins with white space, which counts: " gold"',
        'nodes[2].id: ends with white space, which counts: "shop "',
      ],
    ],
    ['the game’s own data of any node', [pass({ theme: 'winter' }), popup({ premuim: 1, levels: 'x' })], []],
    ['the members of an editor', [{ id: 'p', type: 'popup', position: { x: 1, y: 2 }, label: 'Pop' }], []],
  ])('name %s, or leave it alone', (_what, nodes, notices) => {
    expect(noticesOf(nodes)).toEqual(notices)
  })

  it('name repeated and misspelt members of the definition itself', () => {
    expect(noticesOf([], { top: ',"name":"Again","egdes":[]' })).toEqual([
      'name: is repeated: only the last of several members with the same name counts',
      `egdes: ${ignored('edges')}`,
    ])
  })

  it.each<[string, Json, string | null]>([
    ['any source without rules', null, 'every source'],
    ['a source without a limit for many calls', { perDay: null, sources: { match: { max: 5 } } }, 'the source `match`'],
    ['unlisted sources', { sources: { match: { perDay: 5 } } }, 'sources that it does not list'],
    ['nothing without a limit of the pass', { perSeason: 5 }, null],
    ['nothing where servers give it', { from: 'server', sources: { quest: { from: 'client', perWeek: 5 } } }, null],
    ['nothing where others are off', { others: false, sources: { quest: { perDay: 0 } } }, null],
  ])('name %s that clients can give themselves without end', (_what, xp, named) => {
    const parsed = parseDefinition(print(scenario([passNode('p', { more: { xp } })], [])))
    const notices = parsed.ok ? parsed.notices : parsed.faults
    const text = (what: string) =>
      `takes xp of ${what} from clients, without a limit: a modified client can give itself any amount. \`data.xp\` can take xp from servers, or limit it`
    expect(notices).toEqual(named === null ? [] : [{ path: 'nodes[1].data.xp', message: text(named) }])
  })

  it('name a reward behind a handle of servers as one that only the service leads to', () => {
    const node = { id: 'boss', type: 'fight', handles: { onWin: { from: 'server' } } }
    const edges = [
      { from: 'boss', handle: 'onWin', to: 'gift' },
      { from: 'boss', handle: 'onTry', to: 'sweet' },
    ]
    expect(noticesOf([node, reward('gift'), reward('sweet')], { edges })).toEqual([
      'nodes[2]: pays each time that it is entered; only the service leads to it',
      'nodes[3]: pays each player once, over all runs and versions; clients can reach it by themselves',
    ])
  })

  it('name a season that lies wholly in the past', () => {
    const season = (more: Record<string, Json>) => print(scenario([passNode('p', { more })], []))
    const past = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2020-02-01T00:00:00Z' }
    expect(validateDefinition(season(past)).notices.filter(isOther)).toEqual([
      {
        path: 'nodes[1].data',
        message: 'is a season that lies in the past: its claims ended at 2020-02-01T00:00:00.000Z',
      },
    ])
    expect(validateDefinition(season({ ...past, claimUntil: '9999-01-01T00:00:00Z' })).notices.filter(isOther)).toEqual(
      [],
    )
  })
})

describe('a faulty definition', () => {
  it.each<[string, Json | string, string]>([
    ['text that is not JSON', '{', ': must be JSON: line 1, column 2: the text ends too early'],
    [
      'a comma too many',
      '{\n  "name": "Season",\r\n  "nodes": [],\n}',
      ': must be JSON: line 4, column 1: unexpected "}"',
    ],
    ['a list', '[]', ': must be an object'],
    ['deep nesting', `${'['.repeat(65)}${']'.repeat(65)}`, ': must not nest deeper than 64'],
    [
      'a start that names no node',
      { ...(scenario([], []) as object), start: 'nowhere' },
      'start: names no node: "nowhere"',
    ],
    [
      'a second start',
      scenario([{ id: 'other', type: 'start' }], []),
      'nodes[1]: has type start, but is not where the scenario starts',
    ],
    ['a repeated id', scenario([reward('a'), reward('a')], []), 'nodes[2].id: repeats the id of nodes[1]'],
    [
      'an edge from an unknown node',
      scenario([reward('a')], [edge('x', 'onStart', 'a')]),
      'edges[0].from: names no node: "x"',
    ],
    ['an edge to an unknown node', scenario([], [edge('start', 'onStart', 'x')]), 'edges[0].to: names no node: "x"'],
    [
      'an edge back into the start',
      scenario([reward('a')], [edge('a', 'onComplete', 'start')]),
      'edges[0].to: leads back into the start',
    ],
    [
      'a handle that is never crossed',
      scenario([reward('a')], [edge('a', 'onLevelUp', 'a')]),
      'edges[0].handle: is never crossed by a reward node, which has onComplete',
    ],
    [
      'a client node with a handle of the service',
      scenario([{ id: 'c', type: 'popup' }, reward('a')], [edge('c', 'onLevelUp', 'a')]),
      'edges[0].handle: is crossed by the service only: onLevelUp',
    ],
    [
      'a repeated edge',
      scenario([reward('a')], [edge('start', 'onStart', 'a'), edge('start', 'onStart', 'a')]),
      'edges[1]: repeats an edge',
    ],
    [
      'a cycle of reward nodes',
      scenario([reward('a'), reward('b')], [edge('a', 'onComplete', 'b'), edge('b', 'onComplete', 'a')]),
      'nodes[1]: is part of a cycle of nodes that run by themselves: a → b → a',
    ],
    [
      'unsorted levels',
      scenario(
        [
          {
            id: 'p',
            type: 'battle-pass',
            data: {
              levels: [
                { level: 2, xp: 0 },
                { level: 1, xp: 5 },
              ],
              tiers: [],
            },
          },
        ],
        [],
      ),
      'nodes[1].data.levels[1].level: must be higher than the level before it',
    ],
    [
      'levels of equal xp',
      scenario([passNode('p', { levels: [0, 0], tiers: [] })], []),
      'nodes[1].data.levels[1].xp: must be more than the xp of the level before it',
    ],
    [
      'xp that is not an integer',
      scenario([{ id: 'p', type: 'battle-pass', data: { levels: [{ level: 1, xp: 0.5 }], tiers: [] } }], []),
      'nodes[1].data.levels[0].xp: must be an integer',
    ],
    [
      'xp past int64',
      scenario([passNode('p', { levels: [MAX_INT64 + 1n], tiers: [] })], []),
      'nodes[1].data.levels[0].xp: must be 0 to 9223372036854775807',
    ],
    [
      'an unknown sender of xp',
      scenario([passNode('p', { more: { xp: { from: 'anyone' } } })], []),
      'nodes[1].data.xp.from: must be one of client, server',
    ],
    [
      'a negative limit of a source',
      scenario([passNode('p', { more: { xp: { sources: { match: { perDay: -1 } } } } })], []),
      'nodes[1].data.xp.sources.match.perDay: must be 0 to 9223372036854775807',
    ],
    [
      'a source without a name',
      scenario([passNode('p', { more: { xp: { sources: { '': {} } } } })], []),
      'nodes[1].data.xp.sources[""]: must have a name of 1 to 64 characters',
    ],
    [
      'a source that is no object',
      scenario([passNode('p', { more: { xp: { sources: { 'my match': 5 } } } })], []),
      'nodes[1].data.xp.sources["my match"]: must be an object',
    ],
    [
      'too many sources',
      scenario(
        [
          passNode('p', {
            more: { xp: { sources: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`s${n}`, {}])) } },
          }),
        ],
        [],
      ),
      'nodes[1].data.xp.sources: must have at most 100 members',
    ],
    [
      'a flag of xp that is a text',
      scenario([passNode('p', { more: { xp: { others: 'no' } } })], []),
      'nodes[1].data.xp.others: must be true or false',
    ],
    [
      'an unknown treatment of xp over a limit',
      scenario([passNode('p', { more: { xp: { over: 'drop' } } })], []),
      'nodes[1].data.xp.over: must be one of clip, refuse',
    ],
    [
      'a time of day that does not exist',
      scenario([passNode('p', { more: { xp: { dayStartsAt: '24:00' } } })], []),
      'nodes[1].data.xp.dayStartsAt: must be a time of day, such as 04:00',
    ],
    [
      'an unknown time zone',
      scenario([passNode('p', { more: { xp: { timeZone: 'Mars/Olympus' } } })], []),
      'nodes[1].data.xp.timeZone: must be a time zone of the IANA database, such as Europe/Berlin',
    ],
    [
      'a handle of servers that the node does not have',
      scenario([{ id: 'c', type: 'popup', handles: { onWin: { from: 'server' } } }], []),
      'nodes[1].handles.onWin: must be `onComplete`, or stand on an edge of the node',
    ],
    [
      'handles of a node that the service runs',
      scenario([{ ...(reward('a') as object), handles: { onComplete: { from: 'server' } } }], []),
      'nodes[1].handles: must be absent: the service crosses the handles of this node',
    ],
    [
      'a tier of an unknown level',
      scenario([passNode('p', { tiers: [tier(9, 'free')] })], []),
      'nodes[1].data.tiers[0].level: names no level of this pass: 9',
    ],
    [
      'a repeated tier',
      scenario([passNode('p', { tiers: [tier(1, 'free'), tier(1, 'free')] })], []),
      'nodes[1].data.tiers[1]: repeats the free tier of level 1',
    ],
    [
      'an unknown track',
      scenario([passNode('p', { tiers: [{ level: 1, track: 'gold', rewards: [gold(1)] }] })], []),
      'nodes[1].data.tiers[0].track: must be one of free, premium',
    ],
    [
      'a premium tier of a pass without premium',
      scenario([passNode('p', { price: null, tiers: [tier(1, 'premium')] })], []),
      'nodes[1].data.tiers[0]: is a premium tier of a pass without premium',
    ],
    [
      'a reward node without rewards',
      scenario([reward('a', [])], []),
      'nodes[1].data.rewards: must have 1 to 32 entries',
    ],
    [
      'a reward with a currency and an item',
      scenario([reward('a', [{ currency: 'gold', itemId: 'hat', amount: 1 }])], []),
      'nodes[1].data.rewards[0]: must have exactly one of currency, itemId and boost',
    ],
    [
      'a boost beside a currency',
      scenario([reward('a', [{ currency: 'gold', amount: 1, boost: { percent: 1, minutes: 1 } }])], []),
      'nodes[1].data.rewards[0]: must not have boost besides a currency or an item',
    ],
    [
      'a boost with an amount',
      scenario([reward('a', [{ boost: { percent: 1, minutes: 1 }, amount: 1 }])], []),
      'nodes[1].data.rewards[0].amount: must not stand beside a boost',
    ],
    [
      'a boost that lasts too long',
      scenario([reward('a', [{ boost: { percent: 1000, minutes: 43201 } }])], []),
      'nodes[1].data.rewards[0].boost.minutes: must be 1 to 43200',
    ],
    [
      'a boost of nothing',
      scenario([reward('a', [{ boost: { percent: 0, minutes: 1 } }])], []),
      'nodes[1].data.rewards[0].boost.percent: must be 1 to 1000',
    ],
    [
      'a boost that is no object',
      scenario([reward('a', [{ boost: 5 }])], []),
      'nodes[1].data.rewards[0].boost: must be an object',
    ],
    [
      'a reward with amount 0',
      scenario([reward('a', [{ currency: 'gold', amount: 0 }])], []),
      'nodes[1].data.rewards[0].amount: must be 1 to 9223372036854775807',
    ],
    [
      'a negative price',
      scenario([passNode('p', { price: { currency: 'gems', amount: -1 }, tiers: [] })], []),
      'nodes[1].data.premium.price.amount: must be 0 to 9223372036854775807',
    ],
    [
      'a date without an offset',
      scenario([passNode('p', { more: { startsAt: '2026-12-01T00:00:00' } })], []),
      'nodes[1].data.startsAt: must be a date and time with an offset, such as 2026-12-01T00:00:00Z',
    ],
    [
      'a day that does not exist',
      scenario([passNode('p', { more: { startsAt: '2026-02-30T00:00:00Z' } })], []),
      'nodes[1].data.startsAt: must be a date that exists: February 2026 has 28 days',
    ],
    [
      'a month that does not exist',
      scenario([passNode('p', { more: { startsAt: '2026-13-01T00:00:00Z' } })], []),
      'nodes[1].data.startsAt: must be a date that exists: there is no month 13',
    ],
    [
      'a local time with an offset',
      scenario([passNode('p', { more: { startsAt: { at: '2026-12-01T00:00:00Z', timeZone: 'UTC' } } })], []),
      'nodes[1].data.startsAt.at: must be a local date and time without an offset, such as 2027-03-28T02:30',
    ],
    [
      'a local time on a day that does not exist',
      scenario([passNode('p', { more: { startsAt: { at: '2027-02-29T00:00', timeZone: 'UTC' } } })], []),
      'nodes[1].data.startsAt.at: must be a date that exists: February 2027 has 28 days',
    ],
    [
      'a local time without a zone',
      scenario([passNode('p', { more: { startsAt: { at: '2026-12-01T00:00' } } })], []),
      'nodes[1].data.startsAt.timeZone: is required',
    ],
    [
      'a local time in a zone that does not exist',
      scenario([passNode('p', { more: { startsAt: { at: '2026-12-01T00:00', timeZone: 'Europe/Munich' } } })], []),
      'nodes[1].data.startsAt.timeZone: must be a time zone of the IANA database, such as Europe/Berlin',
    ],
    [
      'an announcement that is no date',
      scenario([passNode('p', { more: { announcedAt: 'soon', startsAt: '2026-12-02T00:00:00Z' } })], []),
      'nodes[1].data.announcedAt: must be a date and time with an offset, such as 2026-12-01T00:00:00Z',
    ],
    [
      'an announcement without a start',
      scenario([passNode('p', { more: { announcedAt: '2026-12-02T00:00:00Z' } })], []),
      'nodes[1].data.announcedAt: needs startsAt',
    ],
    [
      'an announcement at the start',
      scenario(
        [passNode('p', { more: { announcedAt: '2026-12-02T00:00:00Z', startsAt: '2026-12-02T01:00:00+01:00' } })],
        [],
      ),
      'nodes[1].data.announcedAt: must be before startsAt',
    ],
    [
      'hours before an end that there is not',
      scenario([passNode('p', { more: { endingHours: 48 } })], []),
      'nodes[1].data.endingHours: needs endsAt',
    ],
    [
      'more hours before the end than the season has',
      scenario(
        [
          passNode('p', {
            more: { startsAt: '2026-12-01T00:00:00Z', endsAt: '2026-12-02T00:00:00Z', endingHours: 25 },
          }),
        ],
        [],
      ),
      'nodes[1].data.endingHours: must not be longer than the season',
    ],
    [
      'hours before the end that are no number',
      scenario([passNode('p', { more: { endsAt: '2026-12-02T00:00:00Z', endingHours: '48' } })], []),
      'nodes[1].data.endingHours: must be an integer',
    ],
    ...[
      ['of tiers that are not mailed', { atEnd: 'grant', mail: {} }, ': needs atEnd with the value mail'],
      [
        'in no language',
        { mail: { text: { 'e n': { title: 'x' } } } },
        '.text["e n"]: must be named by the tag of a language, such as pt-BR',
      ],
      [
        'twice in a language',
        { mail: { text: { en: { title: 'x' }, EN: { title: 'y' } } } },
        '.text.EN: repeats a language in another letter case',
      ],
      ['without a title', { mail: { text: { en: { body: 'x' } } } }, '.text.en.title: is required'],
      [
        'that is too long',
        {
          mail: {
            text: Object.fromEntries(
              ['en', 'de', 'fr', 'es', 'it'].map((tag) => [tag, { title: 'x', body: 'x'.repeat(2_000) }]),
            ),
          },
        },
        '.text: is longer than 8192 bytes in all languages',
      ],
      ['with a picture of two lines', { mail: { image: 'a\nb' } }, '.image: must not contain control characters'],
      ['that stays too long', { mail: { days: 366 } }, '.days: must be 1 to 365'],
    ].map(([what, more, fault]): [string, Json, string] => [
      `a mail ${what}`,
      scenario([passNode('p', { more: { endsAt: '2026-12-02T00:00:00Z', atEnd: 'mail', ...(more as object) } })], []),
      `nodes[1].data.mail${fault}`,
    ]),
    [
      'a grant at an end that there is not',
      scenario([passNode('p', { more: { atEnd: 'grant' } })], []),
      'nodes[1].data.atEnd: needs endsAt: without it, claims never close for good',
    ],
    ...[0, 1_001, 1.5, '20'].map((xpPercent): [string, Json, string] => [
      `more xp by ${xpPercent} percent`,
      scenario([passNode('p', { price: null, more: { premium: { price: GEMS, xpPercent } } })], []),
      `nodes[1].data.premium.xpPercent: must be ${Number.isInteger(xpPercent) ? '1 to 1000' : 'an integer'}`,
    ]),
    [
      'instant rewards that are no list',
      scenario([passNode('p', { price: null, more: { premium: { price: GEMS, instant: gold(1) } } })], []),
      'nodes[1].data.premium.instant: must be a list',
    ],
    [
      'too many instant rewards',
      scenario(
        [passNode('p', { price: null, more: { premium: { price: GEMS, instant: Array(33).fill(gold(1)) } } })],
        [],
      ),
      'nodes[1].data.premium.instant: must have 0 to 32 entries',
    ],
    [
      'an instant reward of nothing',
      scenario([passNode('p', { price: null, more: { premium: { price: GEMS, instant: [gold(1), gold(0)] } } })], []),
      'nodes[1].data.premium.instant[1].amount: must be 1 to 9223372036854775807',
    ],
    [
      'an instant reward of two kinds',
      scenario(
        [
          passNode('p', {
            price: null,
            more: { premium: { price: GEMS, instant: [{ currency: 'gold', itemId: 'hat', amount: 1 }] } },
          }),
        ],
        [],
      ),
      'nodes[1].data.premium.instant[0]: must have exactly one of currency, itemId and boost',
    ],
    [
      'another way to claim',
      scenario([passNode('p', { more: { autoClaim: true } })], []),
      'nodes[1].data.autoClaim: must be one of never, always',
    ],
    [
      'something else at the end',
      scenario([passNode('p', { more: { endsAt: '2026-12-02T00:00:00Z', atEnd: 'send' } })], []),
      'nodes[1].data.atEnd: must be one of lose, grant, mail',
    ],
    [
      'neither bonus tiers nor a conversion',
      scenario([passNode('p', { more: { beyond: {} } })], []),
      'nodes[1].data.beyond: must have either every and rewards, or convert',
    ],
    [
      'bonus tiers that are no object',
      scenario([passNode('p', { more: { beyond: 1_000 } })], []),
      'nodes[1].data.beyond: must be an object',
    ],
    [
      'bonus tiers and a conversion',
      scenario(
        [passNode('p', { more: { beyond: { every: 5, rewards: [gold(1)], convert: { currency: 'a', per: 1 } } } })],
        [],
      ),
      'nodes[1].data.beyond: must have either every and rewards, or convert',
    ],
    [
      'bonus tiers without rewards',
      scenario([passNode('p', { more: { beyond: { every: 5 } } })], []),
      'nodes[1].data.beyond.rewards: is required',
    ],
    [
      'bonus tiers with an empty list of rewards',
      scenario([passNode('p', { more: { beyond: { every: 5, rewards: [] } } })], []),
      'nodes[1].data.beyond.rewards: must have 1 to 32 entries',
    ],
    [
      'bonus tiers for no xp',
      scenario([passNode('p', { more: { beyond: { every: 0, rewards: [gold(1)] } } })], []),
      'nodes[1].data.beyond.every: must be 1 to 9223372036854775807',
    ],
    [
      'bonus tiers of unknown distance',
      scenario([passNode('p', { more: { beyond: { rewards: [gold(1)] } } })], []),
      'nodes[1].data.beyond.every: is required',
    ],
    [
      'too many bonus tiers',
      scenario([passNode('p', { more: { beyond: { every: 5, rewards: [gold(1)], max: 1_001 } } })], []),
      'nodes[1].data.beyond.max: must be 1 to 1000',
    ],
    [
      'no bonus tiers on a day',
      scenario([passNode('p', { more: { beyond: { every: 5, rewards: [gold(1)], perDay: 0 } } })], []),
      'nodes[1].data.beyond.perDay: must be 1 to 1000',
    ],
    [
      'xp that becomes nothing known',
      scenario([passNode('p', { more: { beyond: { convert: { per: 5 } } } })], []),
      'nodes[1].data.beyond.convert.currency: is required',
    ],
    [
      'a conversion of no xp',
      scenario([passNode('p', { more: { beyond: { convert: { currency: 'gold', per: 0 } } } })], []),
      'nodes[1].data.beyond.convert.per: must be 1 to 9223372036854775807',
    ],
    [
      'a next season of a season that never ends',
      scenario([passNode('p', { more: { next: { scenarioId: 'two' } } })], []),
      'nodes[1].data.next: needs endsAt: without it, the season never ends',
    ],
    [
      'something to take along to nowhere',
      scenario([passNode('p', { more: { endsAt: '2026-12-02T00:00:00Z', next: { carry: { premium: true } } } })], []),
      'nodes[1].data.next.carry: needs scenarioId',
    ],
    [
      'a pass of no scenario',
      scenario([passNode('p', { more: { endsAt: '2026-12-02T00:00:00Z', next: { nodeId: 'pass' } } })], []),
      'nodes[1].data.next.nodeId: needs scenarioId',
    ],
    [
      'more xp than there is',
      scenario(
        [
          passNode('p', {
            more: { endsAt: '2026-12-02T00:00:00Z', next: { scenarioId: 'two', carry: { xpPercent: 101 } } },
          }),
        ],
        [],
      ),
      'nodes[1].data.next.carry.xpPercent: must be 1 to 100',
    ],
    [
      'a limit of xp that is not taken along',
      scenario(
        [passNode('p', { more: { endsAt: '2026-12-02T00:00:00Z', next: { scenarioId: 'two', carry: { xpMax: 5 } } } })],
        [],
      ),
      'nodes[1].data.next.carry.xpMax: needs xpPercent',
    ],
    [
      'a currency that ends twice',
      scenario(
        [
          passNode('p', {
            more: { endsAt: '2026-12-02T00:00:00Z', next: { convert: [{ currency: 'a' }, { currency: 'a' }] } },
          }),
        ],
        [],
      ),
      'nodes[1].data.next.convert[1].currency: repeats a currency',
    ],
    [
      'a currency that becomes one that ends',
      scenario(
        [
          passNode('p', {
            more: {
              endsAt: '2026-12-02T00:00:00Z',
              next: { convert: [{ currency: 'a', to: 'b', rate: '1:1' }, { currency: 'b' }] },
            },
          }),
        ],
        [],
      ),
      'nodes[1].data.next.convert[0].to: must not be among the currencies that end: the order would matter',
    ],
    [
      'a currency that becomes another one at no rate',
      scenario(
        [passNode('p', { more: { endsAt: '2026-12-02T00:00:00Z', next: { convert: [{ currency: 'a', to: 'b' }] } } })],
        [],
      ),
      'nodes[1].data.next.convert[0].to: needs rate',
    ],
    [
      'a rate of a currency that expires',
      scenario(
        [
          passNode('p', {
            more: { endsAt: '2026-12-02T00:00:00Z', next: { convert: [{ currency: 'a', rate: '1:2' }] } },
          }),
        ],
        [],
      ),
      'nodes[1].data.next.convert[0].rate: needs to',
    ],
    [
      'a rate of nothing',
      scenario(
        [
          passNode('p', {
            more: { endsAt: '2026-12-02T00:00:00Z', next: { convert: [{ currency: 'a', to: 'b', rate: '0:2' }] } },
          }),
        ],
        [],
      ),
      'nodes[1].data.next.convert[0].rate: must be what is given, a colon, and for how much, such as 1:10',
    ],
    [
      'a season that ends before it starts',
      scenario([passNode('p', { more: { startsAt: '2026-12-02T00:00:00Z', endsAt: '2026-12-01T00:00:00Z' } })], []),
      'nodes[1].data.endsAt: must be after startsAt',
    ],
    [
      'claims that close before the season',
      scenario([passNode('p', { more: { endsAt: '2026-12-02T00:00:00Z', claimUntil: '2026-12-01T00:00:00Z' } })], []),
      'nodes[1].data.claimUntil: must not be before endsAt',
    ],
    [
      'claims that close of a season that never ends',
      scenario([passNode('p', { more: { claimUntil: '2026-12-01T00:00:00Z' } })], []),
      'nodes[1].data.claimUntil: needs endsAt: without it, the season never ends',
    ],
    [
      'two passes that lead on to different seasons',
      scenario(
        ['a', 'b', 'c'].map((id, n) =>
          passNode(id, { more: { endsAt: '2026-12-01T00:00:00Z', next: { scenarioId: n < 2 ? 'next' : 'other' } } }),
        ),
        [],
      ),
      'nodes[3].data.next.scenarioId: must be the same as nodes[1].data.next.scenarioId: "next"',
    ],
    [
      'a level node of an unknown pass',
      scenario([levelNode({ levelNumber: 1, passNodeId: 'start' })], []),
      'nodes[1].data.passNodeId: names no battle-pass node: "start"',
    ],
    [
      'a level node of an unknown level',
      scenario([passNode('p'), levelNode({ levelNumber: 9, passNodeId: 'p' })], []),
      'nodes[2].data.levelNumber: names no level of the pass: 9',
    ],
    [
      'a level node of a level without rewards',
      scenario([passNode('p', { tiers: [] }), levelNode({ levelNumber: 2, passNodeId: 'p' })], []),
      'nodes[2].data.levelNumber: names a level without a tier, and the node has no rewards of its own: 2',
    ],
    [
      'a level number that is not decimal',
      scenario([passNode('p'), levelNode({ levelNumber: '0x1', passNodeId: 'p' })], []),
      'nodes[2].data.levelNumber: must be an integer',
    ],
    [
      'data that is not an object',
      scenario([{ id: 'c', type: 'popup', data: [] }], []),
      'nodes[1].data: must be an object',
    ],
    [
      'an id with NUL',
      scenario([{ id: 'a\0', type: 'popup' }], []),
      'nodes[1].id: must not contain NUL or a lone surrogate',
    ],
    [
      'an id of 129 characters',
      scenario([{ id: 'a'.repeat(129), type: 'popup' }], []),
      'nodes[1].id: must be 1 to 128 characters',
    ],
    [
      'a level past a million',
      scenario([{ id: 'p', type: 'battle-pass', data: { levels: [{ level: 1_000_001, xp: 0 }], tiers: [] } }], []),
      'nodes[1].data.levels[0].level: must be 1 to 1000000',
    ],
    [
      'the hour 24',
      scenario([passNode('p', { more: { startsAt: '2026-12-01T24:00:00Z' } })], []),
      'nodes[1].data.startsAt: must be a date and time with an offset, such as 2026-12-01T00:00:00Z',
    ],
    [
      'premium rewards of a level node whose pass has no premium',
      scenario(
        [
          passNode('p', { price: null, tiers: [] }),
          levelNode({ levelNumber: 1, passNodeId: 'p', rewards: { premium: [gold(1)] } }),
        ],
        [],
      ),
      'nodes[2].data.rewards.premium: is for a pass without premium',
    ],
    [
      'a node that follows itself',
      scenario([reward('a')], [edge('a', 'onComplete', 'a')]),
      'nodes[1]: is part of a cycle of nodes that run by themselves: a → a',
    ],
    [
      'too many nodes',
      scenario(Array(1000).fill({ id: 'c', type: 'popup' }), []),
      'nodes: must have 1 to 1000 entries',
    ],
  ])('is reported for %s', (_what, definition, fault) => {
    expect(faultsOf(definition)).toContain(fault)
  })

  it.each<[string, Json | string, string[]]>([
    ['a list instead of a scenario', '[]', [': must be an object']],
    ['a number instead of a node', scenario([5], []), ['nodes[1]: must be an object']],
    ['a number instead of an edge', scenario([], [5]), ['edges[0]: must be an object']],
    [
      'a number instead of a price',
      scenario([passNode('p', { price: 5 })], []),
      ['nodes[1].data.premium.price: must be an object'],
    ],
    ['a number instead of a reward', scenario([reward('a', [5])], []), ['nodes[1].data.rewards[0]: must be an object']],
    [
      'a level without its number, although a tier and a level node name a level',
      scenario(
        [
          {
            id: 'p',
            type: 'battle-pass',
            data: { levels: [{ xp: 0 }], tiers: [tier(1, 'free')] },
          },
          levelNode({ levelNumber: 1, passNodeId: 'p' }),
        ],
        [],
      ),
      ['nodes[1].data.levels[0].level: is required'],
    ],
    [
      'a level without its xp',
      scenario([{ id: 'p', type: 'battle-pass', data: { levels: [{ level: 1 }], tiers: [tier(1, 'free')] } }], []),
      ['nodes[1].data.levels[0].xp: is required'],
    ],
    ['a missing start', { ...(scenario([], []) as object), start: null }, ['start: is required']],
  ])('is reported with nothing else for %s', (_what, definition, faults) => {
    expect(faultsOf(definition)).toEqual(faults)
  })

  it('has all its faults reported at once', () => {
    expect(
      faultsOf({
        start: 5,
        nodes: [{ type: 'popup' }, { id: 'p', type: 'battle-pass', data: { tiers: 5 } }],
        edges: '',
      }),
    ).toEqual([
      'name: is required',
      'start: must be a string',
      'edges: must be a list',
      'nodes[0].id: is required',
      'nodes[1].data.levels: is required',
      'nodes[1].data.tiers: must be a list',
    ])
  })

  it('has a hundred faults reported, and the others counted', () => {
    const faults = faultsOf(
      scenario(
        [
          {
            id: 'p',
            type: 'battle-pass',
            data: { levels: [{ level: 1, xp: 0 }], tiers: Array.from({ length: 150 }, () => tier(9, 'free')) },
          },
        ],
        [],
      ),
    )
    expect(faults).toHaveLength(101)
    expect(faults.at(-1)).toMatch(/^: and \d+ more faults$/)
  })
})

describe('what premium brings besides its track', () => {
  const passOf = (premium: Json, isStored = false) => {
    const parsed = parseDefinition(print(scenario([passNode('p', { price: null, more: { premium } })], [])), {
      isStored,
    })
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults))
    return parsed.definition.nodes.get('p')
  }

  it.each([1, 20, 1_000])('is more xp, by %i percent', (xpPercent) => {
    expect(passOf({ price: GEMS, xpPercent })).toMatchObject({
      premiumXpPercent: BigInt(xpPercent),
      premiumInstant: [],
    })
  })

  it('is a list of rewards, up to the largest amount', () => {
    expect(passOf({ price: GEMS, instant: [gold(MAX_INT64), { itemId: 'hat', amount: 1 }] })).toMatchObject({
      premium: { currency: 'gems', amount: 950n },
      premiumXpPercent: null,
      premiumInstant: [
        { currency: 'gold', itemId: null, amount: MAX_INT64 },
        { currency: null, itemId: 'hat', amount: 1n },
      ],
    })
  })

  it('is nothing where the members are null, or the list is empty', () => {
    for (const premium of [{ xpPercent: null, instant: null }, { instant: [] }])
      expect(passOf({ price: GEMS, ...premium })).toMatchObject({ premiumXpPercent: null, premiumInstant: [] })
  })

  it('is nothing where a stored definition has such members for its own use, each by itself', () => {
    expect(passOf({ price: GEMS, xpPercent: 'a lot', instant: [gold(1)] }, true)).toMatchObject({
      premium: { currency: 'gems', amount: 950n },
      premiumXpPercent: null,
      premiumInstant: [{ currency: 'gold', amount: 1n }],
    })
    expect(passOf({ price: GEMS, xpPercent: 5, instant: ['hat'] }, true)).toMatchObject({
      premiumXpPercent: 5n,
      premiumInstant: [],
    })
  })

  it('is noticed where a name has white space around it, and where it is misspelt', () => {
    const premium = { price: GEMS, xpPercents: 5, instant: [{ currency: 'gold ', amount: 1 }] }
    const { notices } = validateDefinition(print(scenario([passNode('p', { price: null, more: { premium } })], [])))
    expect(notices.filter(isOther).map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'nodes[1].data.premium.xpPercents: is ignored: no rule knows this member; did you mean xpPercent?',
      'nodes[1].data.premium.instant[0].currency: ends with white space, which counts: "gold "',
    ])
  })
})

describe('what xp above the top level brings', () => {
  const passOf = (beyond: Json, isStored = false) => {
    const parsed = parseDefinition(print(scenario([passNode('p', { more: { beyond } })], [])), { isStored })
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults))
    return parsed.definition.nodes.get('p')
  }
  const rewards = [{ currency: 'gold', itemId: null, amount: 5n }]

  it('is bonus tiers, of which there are a thousand without more, or a currency', () => {
    const tiers = { kind: 'tiers', every: 1_000n, rewards }
    expect(passOf({ every: 1_000, rewards: [gold(5)] })).toMatchObject({
      beyond: { ...tiers, max: 1_000, perDay: null },
    })
    expect(passOf({ every: 1_000, rewards: [gold(5)], max: 10, perDay: 1, convert: null })).toMatchObject({
      beyond: { ...tiers, max: 10, perDay: 1 },
    })
    expect(passOf({ convert: { currency: 'gold', per: 100 }, every: null })).toMatchObject({
      beyond: { kind: 'conversion', currency: 'gold', per: 100n },
    })
    expect(passOf(null)).toMatchObject({ beyond: null })
  })

  it('has all of its faults at once', () => {
    expect(
      faultsOf(
        scenario([passNode('p', { more: { beyond: { every: 0, rewards: [gold(0)], perDay: 'x', convert: {} } } })], []),
      ),
    ).toEqual([
      'nodes[1].data.beyond: must have either every and rewards, or convert',
      'nodes[1].data.beyond.convert.currency: is required',
      'nodes[1].data.beyond.convert.per: is required',
      'nodes[1].data.beyond.every: must be 1 to 9223372036854775807',
      'nodes[1].data.beyond.rewards[0].amount: must be 1 to 9223372036854775807',
      'nodes[1].data.beyond.perDay: must be an integer',
    ])
  })

  it('is nothing where a stored definition has such a member for its own use', () => {
    for (const beyond of ['the wall', { every: 'day' }, { convert: { currency: 'gold' } }, {}])
      expect(passOf(beyond, true)).toMatchObject({ beyond: null })
    expect(passOf({ every: 5, rewards: [gold(5)] }, true)).toMatchObject({ beyond: { every: 5n } })
  })
})

describe('a definition that was stored before xp had rules', () => {
  it.each([
    ['xp of the game', [passNode('p', { more: { xp: { from: 'quests', perDay: 'many' } } })]],
    ['xp that is a number', [passNode('p', { more: { xp: 5 } })]],
    ['handles of the game', [{ id: 'c', type: 'popup', handles: ['onWin'] }]],
  ])('keeps %s, which has no effect', (_what, nodes) => {
    const parsed = parseDefinition(print(scenario(nodes as Json[], [])), { isStored: true })
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults))
    const [, node] = [...parsed.definition.nodes.values()]
    expect(node).toMatchObject(node?.type === 'client' ? { serverHandles: new Set() } : { xpRules: null })
  })
})

import { type Json, MAX_INT64, print } from '../base/json.ts'
import {
  HANDLE,
  MAX_ASSET,
  MAX_BONUS_TIERS,
  MAX_BOOST_MINUTES,
  MAX_BOOST_PERCENT,
  MAX_CARRIED_PERCENT,
  MAX_DESCRIPTION,
  MAX_EDGES,
  MAX_ENDING_HOURS,
  MAX_HANDLE,
  MAX_ID,
  MAX_IMAGE,
  MAX_LANGUAGES,
  MAX_LEVEL,
  MAX_LEVELS,
  MAX_LISTED_HANDLES,
  MAX_LISTED_SOURCES,
  MAX_MESSAGE_BODY,
  MAX_MESSAGE_DAYS,
  MAX_MESSAGE_TEXT_BYTES,
  MAX_MESSAGE_TITLE,
  MAX_NAME,
  MAX_NODES,
  MAX_OPTIONS,
  MAX_REWARDS,
  MAX_SOURCE,
  MAX_TAG,
  MAX_TYPE,
  MAX_XP_PERCENT,
  MIN_OPTIONS,
} from '../base/limits.ts'
import { AT_ENDS, AUTO_CLAIMS, REPEATS, TRACKS } from './definition.ts'
import { RATE_PATTERN } from './next-season.ts'
import { OVER_LIMIT, XP_LIMITS, XP_SENDERS } from './xp-rules.ts'

// A scenario's definition as JSON Schema, for editors and build pipelines. It checks each place by itself. Only
// `parseDefinition` checks places against each other (an edge's nodes, a tier's level, the order of dates), and time
// zones against their database. Tests keep the two in agreement.

type Schema = { readonly [keyword: string]: Json }

const LIMIT_DESCRIPTIONS = {
  max: 'The most xp of one call.',
  perDay: 'The most xp in a day of the game.',
  perWeek: 'The most xp in a week of the game, which begins on Monday.',
  perSeason: 'The most xp since the player began the pass.',
} as const satisfies Record<(typeof XP_LIMITS)[number], string>

const ref = (name: string): Schema => ({ $ref: `#/$defs/${name}` })
const orNull = (schema: Schema, description: string): Schema => ({ description, anyOf: [schema, { type: 'null' }] })

const text = (max: number, description: string): Schema => ({
  type: 'string',
  description,
  minLength: 1,
  maxLength: max,
  // No NUL and no lone surrogate, which cannot be stored.
  pattern: '^[^\\u0000\\ud800-\\udfff]*$',
})

const integer = (minimum: number | bigint, maximum: number | bigint, description: string): Schema => ({
  type: 'integer',
  description,
  minimum,
  maximum,
})

const list = (items: Schema, minItems: number, maxItems: number, description: string): Schema => ({
  type: 'array',
  description,
  minItems,
  maxItems,
  items,
})

/** Unknown members are allowed everywhere: the service ignores them, and clients receive those of `data`. */
const object = (required: readonly string[], properties: Schema, description: string): Schema => ({
  type: 'object',
  description,
  required,
  properties,
})

/** That an object has a member which is not null. */
const given = (name: string): Schema => ({ required: [name], properties: { [name]: { not: { type: 'null' } } } })

/** An object whose names are the designer's. */
const names = (values: Schema, maxName: number, maxProperties: number, description: string): Schema => ({
  type: 'object',
  description,
  maxProperties,
  propertyNames: text(maxName, 'A name.'),
  additionalProperties: { anyOf: [values, { type: 'null' }] },
})

const from = (description: string): Schema => ({ enum: [...XP_SENDERS, null], description })

const limits: Schema = Object.fromEntries(
  XP_LIMITS.map((limit) => [limit, orNull(integer(0, MAX_INT64, LIMIT_DESCRIPTIONS[limit]), 'Default: none.')]),
)

/** What a game shows of the object: texts by language, and a picture. */
const display: Schema = {
  text: orNull(ref('texts'), 'What players read, by language. Default: nothing.'),
  image: orNull(ref('image'), 'The picture. Default: none.'),
}

const id = (description: string): Schema => text(MAX_ID, description)
const level = (description: string): Schema => integer(1, MAX_LEVEL, description)

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

const YEAR_DAY =
  '\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))'
const LEAP_DAY = '(\\d\\d(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29'
const TIME = '([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?([Zz]|[+-]([01]\\d|2[0-3]):[0-5]\\d)'

/** The form of a tag, roughly: only `parseDefinition` checks the order of what follows the language. */
const LANGUAGE = '^([A-Za-z]{2,3}|[A-Za-z]{5,8})(-[A-Za-z0-9]{1,8})*$'

/** The schema of `data`, for node types that the service runs. */
const dataOf = (type: string, name: string): Schema => ({
  if: { properties: { type: { const: type } }, required: ['type'] },
  // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema.
  then: { required: ['data'], properties: { data: ref(name) } },
})

export const definitionSchema: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'urn:tierway:scenario',
  title: 'Scenario',
  ...object(
    ['name', 'start', 'nodes'],
    {
      name: text(MAX_NAME, 'The display name.'),
      start: id('The id of the node where runs begin.'),
      nodes: list(ref('node'), 1, MAX_NODES, 'Their ids are unique.'),
      edges: orNull(
        list(ref('edge'), 0, MAX_EDGES, 'The edges from handles to nodes. Nodes are entered in this order.'),
        'Default: none.',
      ),
      ...display,
    },
    'A graph of nodes that players walk through. Null counts as absent, unknown members are ignored, and integers are written as integers: 1.0 and 1e3 are refused.',
  ),
  $defs: {
    node: {
      ...object(
        ['id', 'type'],
        {
          id: id('Unique in the scenario. The state of players is stored under it, so it should never change.'),
          type: {
            ...text(MAX_TYPE, 'A type that the service runs, or any other type, which the client runs.'),
            examples: ['start', 'battle-pass', 'battle-pass-level', 'reward', 'popup'],
          },
          handles: orNull(
            names(ref('handleRule'), MAX_HANDLE, MAX_LISTED_HANDLES, 'Handles of the node by their names.'),
            'Of a node that the client runs: who may cross its handles. Default: clients and servers.',
          ),
          data: {
            type: ['object', 'null'],
            description: 'Passed to the client unchanged when the node is entered.',
          },
        },
        'A node.',
      ),
      allOf: [
        dataOf('battle-pass', 'battlePass'),
        dataOf('battle-pass-level', 'battlePassLevel'),
        dataOf('reward', 'reward'),
      ],
    },
    edge: object(
      ['from', 'handle', 'to'],
      {
        from: id('The node that crosses the handle.'),
        handle: {
          ...text(MAX_HANDLE, 'A handle that the node crosses.'),
          pattern: HANDLE.source,
          examples: ['onStart', 'onLevelUp', 'onMaxLevel', 'onPremiumPurchase', 'onComplete'],
        },
        to: id('The node that the crossing enters.'),
      },
      'An edge. No two edges are the same.',
    ),
    battlePass: object(
      ['levels'],
      {
        levels: list(ref('level'), 1, MAX_LEVELS, 'By rising level and rising xp.'),
        tiers: orNull(
          list(ref('tier'), 0, TRACKS.length * MAX_LEVELS, 'At most one for each level and track.'),
          'Default: none.',
        ),
        premium: orNull(ref('premium'), 'Without it there is no premium track.'),
        announcedAt: orNull(
          ref('moment'),
          'From this moment on the season is announced: before `startsAt`. Default: it is not.',
        ),
        startsAt: orNull(ref('moment'), 'Xp, claims and premium are open from this moment on. Default: always.'),
        endingHours: orNull(
          integer(1, MAX_ENDING_HOURS, 'A number of hours.'),
          'For these hours before `endsAt` the season is about to end. Default: for none.',
        ),
        endsAt: orNull(ref('moment'), 'The first moment without xp and premium. Default: none.'),
        claimUntil: orNull(ref('moment'), 'The first moment without claims. Default: `endsAt`.'),
        atEnd: {
          enum: [...AT_ENDS, null],
          description:
            'What becomes of tiers that a player earned and did not claim, at `claimUntil`: they are lost, granted, or mailed to the inbox of the player. Default: lose.',
        },
        mail: orNull(ref('mail'), 'The message with these tiers: it needs `atEnd` with the value `mail`.'),
        autoClaim: {
          enum: [...AUTO_CLAIMS, null],
          description:
            'With `always`, xp that reaches a tier claims it, and so does the purchase of premium. Default: never.',
        },
        next: orNull(ref('nextSeason'), 'What follows the season: it needs `endsAt`. Default: nothing.'),
        beyond: orNull(ref('beyond'), 'What xp above the top level brings. Default: nothing.'),
        xp: orNull(ref('xpRules'), 'Who may give xp, and how much. Default: clients and servers, without limits.'),
        ...display,
      },
      'The data of a battle-pass node.',
    ),
    beyond: {
      ...object(
        [],
        {
          every: orNull(
            integer(1, MAX_INT64, 'An amount of xp.'),
            'So much xp above the top level earns a bonus tier, again and again.',
          ),
          rewards: orNull(
            list(ref('tierEntry'), 1, MAX_REWARDS, 'The rewards, and at most one choice.'),
            'The rewards of each bonus tier.',
          ),
          max: orNull(
            integer(1, MAX_BONUS_TIERS, 'A number of tiers.'),
            `How many bonus tiers there are. Default: ${MAX_BONUS_TIERS}.`,
          ),
          perDay: orNull(
            integer(1, MAX_BONUS_TIERS, 'A number of tiers.'),
            'So many bonus tiers are claimed on a day of the game. Default: no limit.',
          ),
          convert: orNull(
            object(
              ['currency', 'per'],
              {
                currency: text(MAX_ASSET, 'A currency of the wallet.'),
                per: integer(1, MAX_INT64, 'So much xp becomes one of the currency.'),
              },
              'A currency, and how much xp becomes one of it.',
            ),
            'What xp above the top level becomes.',
          ),
        },
        'Either bonus tiers, by `every` and `rewards`, or `convert`.',
      ),
      oneOf: [
        {
          required: ['every', 'rewards'],
          properties: {
            every: { not: { type: 'null' } },
            rewards: { not: { type: 'null' } },
            convert: { type: 'null' },
          },
        },
        {
          required: ['convert'],
          properties: {
            convert: { not: { type: 'null' } },
            ...Object.fromEntries(['every', 'rewards', 'max', 'perDay'].map((name) => [name, { type: 'null' }])),
          },
        },
      ],
    },
    mail: object(
      [],
      {
        text: orNull(
          names(
            object(
              ['title'],
              {
                title: text(MAX_MESSAGE_TITLE, 'The title.'),
                body: orNull(
                  { ...text(MAX_MESSAGE_BODY, 'The text below the title.'), minLength: 0 },
                  'Default: none.',
                ),
              },
              'The text in one language.',
            ),
            MAX_TAG,
            MAX_LANGUAGES,
            `The text by tags of languages, such as \`pt-BR\`: in all at most ${MAX_MESSAGE_TEXT_BYTES} bytes. The first language is for players of every other one.`,
          ),
          'Default: none, for a game with words of its own.',
        ),
        image: orNull(ref('image'), 'The picture of the message. Default: none.'),
        days: orNull(integer(1, MAX_MESSAGE_DAYS, 'A number of days.'), 'Days until the message expires. Default: 30.'),
      },
      'The message with the tiers that a player earned and did not claim.',
    ),
    nextSeason: object(
      [],
      {
        scenarioId: orNull(
          id('The scenario of the next season.'),
          'Once the season has ended, its players are started there. Default: none.',
        ),
        nodeId: orNull(id('The pass of that scenario.'), 'Default: the one with the id of this pass.'),
        carry: orNull(ref('carry'), 'What a player takes along to the next season, once. Default: nothing.'),
        convert: orNull(
          list(ref('conversion'), 0, MAX_REWARDS, 'Each currency once.'),
          'Currencies that end once claims have closed: they expire, or become another one. Default: none.',
        ),
      },
      'What follows a season.',
    ),
    carry: object(
      [],
      {
        xpPercent: orNull(
          integer(1, MAX_CARRIED_PERCENT, 'A percentage.'),
          'So much of the xp, rounded down, is the xp at the beginning. Default: none.',
        ),
        xpMax: orNull(integer(1, MAX_INT64, 'An amount of xp.'), 'At most so much xp. Default: no limit.'),
        premium: {
          type: ['boolean', 'null'],
          description: 'Whether an owner of premium owns it in the next season, too. Default: false.',
        },
      },
      'What a player takes along.',
    ),
    conversion: object(
      ['currency'],
      {
        currency: text(MAX_ASSET, 'A currency that ends.'),
        to: orNull(text(MAX_ASSET, 'A currency that does not end.'), 'What it becomes. Default: it expires.'),
        rate: {
          type: ['string', 'null'],
          description:
            'With `to`: what is given, and for how much, such as 1:10 for one of `to` for each ten. Rounded down; the rest ends.',
          pattern: RATE_PATTERN,
          examples: ['1:10', '5:1'],
        },
      },
      'A currency that ends with the season.',
    ),
    xpRules: object(
      [],
      {
        from: from(
          'Who may send xp of sources that are not listed: clients and servers, or only servers. Default: client.',
        ),
        others: {
          type: ['boolean', 'null'],
          description: 'Whether xp of sources that are not listed may be sent at all. Default: true.',
        },
        sources: orNull(
          names(ref('xpSource'), MAX_SOURCE, MAX_LISTED_SOURCES, 'Rules of sources by their names.'),
          'Default: none.',
        ),
        ...limits,
        over: {
          enum: [...OVER_LIMIT, null],
          description:
            'Over a limit, `clip` grants what is left of it, and `refuse` answers `xp limit reached`. Default: clip.',
        },
        dayStartsAt: {
          type: ['string', 'null'],
          description: 'The local time at which a day of the game begins. Default: 00:00.',
          pattern: '^([01]\\d|2[0-3]):[0-5]\\d$',
        },
        timeZone: {
          type: ['string', 'null'],
          description: 'The time zone of days and weeks, by its name in the IANA database. Default: UTC.',
          examples: ['Europe/Berlin', 'America/Los_Angeles', 'UTC'],
        },
      },
      'The rules of xp. The limits here are for all sources together.',
    ),
    xpSource: object(
      [],
      { from: from('Who may send xp of this source. Default: as `from` of the pass says.'), ...limits },
      'The rule of a source.',
    ),
    handleRule: object(
      [],
      { from: from('Who may cross the handle: clients and servers, or only servers. Default: client.') },
      'The rule of a handle.',
    ),
    level: object(
      ['level', 'xp'],
      { level: level('Its number.'), xp: integer(0, MAX_INT64, 'The total xp that reaches it.'), ...display },
      'A level.',
    ),
    tier: object(
      ['level', 'track'],
      {
        level: level('The level that opens the tier: one of the levels of this pass.'),
        track: { enum: TRACKS, description: 'A premium tier is for owners of premium.' },
        rewards: orNull(ref('tierRewards'), 'Default: nothing.'),
        ...display,
      },
      'The rewards that can be claimed at a level on a track.',
    ),
    premium: object(
      ['price'],
      {
        price: ref('price'),
        xpPercent: orNull(
          integer(1, MAX_XP_PERCENT, 'A percentage.'),
          'What owners get on top of each xp that clients and servers give, rounded down. Default: nothing.',
        ),
        instant: orNull(
          list(ref('grant'), 0, MAX_REWARDS, 'The rewards. The purchase grants all of them.'),
          'What the purchase grants at once. Default: nothing.',
        ),
      },
      'The price of premium, and what it brings besides the premium track.',
    ),
    price: object(
      ['currency', 'amount'],
      {
        currency: text(MAX_ASSET, 'A currency of the wallet.'),
        amount: integer(0, MAX_INT64, 'The amount; 0 makes premium free.'),
      },
      'A price.',
    ),
    battlePassLevel: object(
      ['levelNumber', 'passNodeId'],
      {
        levelNumber: {
          description: 'A level of the pass, as a number or as its decimal digits.',
          anyOf: [level('A number.'), { type: 'string', pattern: digitsUpTo(MAX_LEVEL) }],
        },
        passNodeId: id('The battle-pass node whose level it is.'),
        rewards: orNull(
          object(
            [],
            Object.fromEntries(
              TRACKS.map((track) => [track, orNull(ref('tierRewards'), 'Default: as the pass lists them.')]),
            ),
            'Rewards by track.',
          ),
          'The rewards of the tiers of this level. They replace the rewards that the pass lists, also for claims on the pass.',
        ),
      },
      'The data of a battle-pass-level node.',
    ),
    reward: object(
      ['rewards'],
      {
        rewards: ref('rewards'),
        repeat: {
          enum: [...REPEATS, null],
          description:
            'How often it pays a player: only once (`never` again), once in each `run`, or `always`. Default: `never` for a node that clients can reach by themselves, by starting a run or by crossing a handle; `always` for any other.',
        },
      },
      'The data of a reward node.',
    ),
    rewards: list(ref('grant'), 1, MAX_REWARDS, 'The rewards. All of them are granted.'),
    tierRewards: list(
      ref('tierEntry'),
      0,
      MAX_REWARDS,
      'The rewards, and at most one choice. A claim grants all rewards, and one option of the choice.',
    ),
    tierEntry: {
      description: 'A reward, or a choice.',
      if: { type: 'object', required: ['choice'], properties: { choice: { not: { type: 'null' } } } },
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema.
      then: ref('choice'),
      else: ref('grant'),
    },
    choice: object(
      ['choice'],
      {
        choice: list(ref('rewards'), MIN_OPTIONS, MAX_OPTIONS, 'The options, each a list of rewards.'),
        ...Object.fromEntries(['currency', 'itemId', 'boost', 'amount'].map((name) => [name, { type: 'null' }])),
      },
      'Options of which the player picks one when it claims the tier.',
    ),
    texts: {
      ...names(ref('wording'), MAX_TAG, MAX_LANGUAGES, `1 to ${MAX_LANGUAGES} languages.`),
      propertyNames: {
        ...text(MAX_TAG, 'The tag of a language (BCP 47), such as pt-BR. No two are the same in another letter case.'),
        pattern: LANGUAGE,
      },
    },
    wording: object(
      ['name'],
      {
        name: text(MAX_NAME, 'What it is called.'),
        description: orNull(text(MAX_DESCRIPTION, 'A description.'), 'Default: none.'),
      },
      'What players read, in one language.',
    ),
    image: {
      ...text(MAX_IMAGE, "A URL, or a key of the game's own assets."),
      pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$',
    },
    grant: {
      ...object(
        [],
        {
          amount: orNull(integer(1, MAX_INT64, 'The amount.'), 'Required for a currency or an item. Not for a boost.'),
          currency: orNull(text(MAX_ASSET, 'A currency.'), 'Goes into the wallet.'),
          itemId: orNull(text(MAX_ASSET, 'An item.'), 'Goes into the inventory.'),
          boost: orNull(ref('personalBoost'), 'The player gets more xp for a time.'),
          ...display,
        },
        'Exactly one of currency, itemId and boost.',
      ),
      oneOf: ['currency', 'itemId', 'boost'].map(given),
      if: given('boost'),
      // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema.
      then: { properties: { amount: { type: 'null' } } },
      else: given('amount'),
    },
    personalBoost: object(
      ['percent', 'minutes'],
      {
        percent: integer(1, MAX_BOOST_PERCENT, 'So many percent more of each xp.'),
        minutes: integer(
          1,
          MAX_BOOST_MINUTES,
          'For so many minutes. A boost of the same percentage that the player has is made longer.',
        ),
      },
      'A boost of the player alone, in all scenarios.',
    ),
    moment: {
      description: 'A moment, by its offset or by its time zone.',
      anyOf: [ref('dateTime'), ref('localTime')],
    },
    localTime: object(
      ['at', 'timeZone'],
      {
        at: {
          type: 'string',
          description:
            'A local date and time, such as 2027-03-28T02:30. Where clocks are set back and show it twice, the first time counts. Where clocks skip it, it counts as if they did not: 02:30 becomes 03:30.',
          pattern: `^(${YEAR_DAY}|${LEAP_DAY})[Tt]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$`,
        },
        timeZone: {
          type: 'string',
          description: 'A time zone of the IANA database, such as Europe/Berlin.',
        },
      },
      'A local time and its time zone.',
    ),
    dateTime: {
      type: 'string',
      format: 'date-time',
      description: 'RFC 3339 with an offset, such as 2026-12-01T00:00:00Z.',
      pattern: `^(${YEAR_DAY}|${LEAP_DAY})[Tt]${TIME}$`,
    },
  },
}

/** The schema as text, with exact integers. */
export const definitionSchemaText = print(definitionSchema)

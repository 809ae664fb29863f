import { queryFromInfo } from '@pothos/plugin-prisma'
import { inThousands } from '../../base/in-thousands.ts'
import { requirePlatform } from '../../callers/access.ts'
import { findEnvironment } from '../../callers/projects.ts'
import { AS_OF } from '../../declare/common.ts'
import { printCursor, readCursor } from '../../declare/cursor.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { forwardPage, namesOf, readList } from '../../declare/graphql/page.ts'
import { argsOf, enumType } from '../../declare/graphql/shapes.ts'
import { isUuid } from '../../declare/shape.ts'
import { PlayerType } from '../../players/graphql.ts'
import { checkPlayers, listedBy, placesOf, playersRequest, searchOf } from './requests.ts'
import {
  countPlayers,
  MAX_COUNT,
  MAX_ROWS,
  NICKNAME_SEARCHES,
  type NicknameSearch,
  nicknameSearchOf,
  type PlayerCount,
  searchPlayers,
} from './search-players.ts'
import { withSegment } from './segments.ts'
import { DIRECTIONS, type ListPosition, PLAYER_SORTS, type PlayerSort } from './statements.ts'

enumType('PlayerSort', PLAYER_SORTS, {
  description: 'The order of a list of players. Equal players are in the order of their ids.',
  values: {
    created: 'By the time of creation.',
    'last login': 'By the last login. Players without a login come last, in either direction.',
    level: 'By the level on the given pass.',
  },
})
enumType('SortDirection', DIRECTIONS, {
  description: 'The direction of a list.',
  values: { descending: 'The newest or highest first.', ascending: 'The oldest or lowest first.' },
})
const NicknameSearchType = enumType('NicknameSearch', NICKNAME_SEARCHES, {
  description: 'How nicknames were searched.',
  values: {
    anywhere: 'Anywhere in nicknames, without regard to letter case and accents.',
    prefix: 'At the beginning of nicknames, in any letter case.',
  },
})

/** Fields of a page of players that are computed when they are requested. */
interface AboutList {
  readonly asOf: Date
  readonly count: () => Promise<PlayerCount>
  readonly nicknameSearch: () => Promise<NicknameSearch | null>
}

const aboutOf = (connection: unknown): AboutList => (connection as { about: AboutList }).about

builder.queryFields((t) => ({
  players: t.connection(
    {
      type: PlayerType,
      description: `The players of an environment, by default the newest first. A page continues after a position, not after a player: a player who moves past it meanwhile, by a login or a level, may appear twice or not at all. A page ends early when ${inThousands(MAX_ROWS)} players were examined for it, and may be empty: while \`hasNextPage\` is true, ask for the next page.`,
      args: argsOf(playersRequest),
      resolve: async (_root, args, context, info) => {
        const { projectId, keyId } = await requirePlatform(context, 'players')
        // The list that a cursor must belong to. GraphQL has already checked the enum.
        const { by = null } = (args.sort ?? {}) as { readonly by?: unknown }
        const listed = (by ?? args.sortBy ?? 'created') as PlayerSort
        const asked = readList(playersRequest, args, (cursor) => readPosition(listed, cursor), checkPlayers)
        const { size, after } = asked
        const { sortBy, direction, ...filter } = listedBy(asked)
        const environmentId = await findEnvironment(context.service.pool, projectId, asked.environment)
        const narrowed = await withSegment(context.service.operatorPool, environmentId, filter, placesOf(asked))
        const search = await searchOf(context.service.run, narrowed, environmentId)
        const reader = context.service.reads.reader(keyId)
        // The requested fields of the players are read together.
        const query = queryFromInfo({ context, info, typeName: 'Player', paths: [['edges', 'node'], ['nodes']] })
        const { found, positions, rows } = await reader.read(async ({ pool, prisma }) => {
          const found = await searchPlayers(pool, search, { after, limit: size + 1, sortBy, direction })
          const positions = found.positions.slice(0, size)
          const ids = positions.map(({ id }) => id)
          const rows = await prisma.player.findMany({ ...query, where: { environmentId, id: { in: ids } } })
          return { found, positions, rows }
        })
        const byId = new Map(rows.map((row) => [row.id, row]))
        const players = positions.flatMap((position) => {
          const row = byId.get(position.id)
          return row ? [{ row, position }] : []
        })
        const page = forwardPage(players, { size, after }, ({ position }) => printPosition(sortBy, position))
        // The next page begins after the last player, or where the search stopped before the page was full.
        const next = found.positions.length > size ? null : found.stoppedAt
        const pageInfo = {
          ...page.pageInfo,
          endCursor: next ? printPosition(sortBy, next) : page.pageInfo.endCursor,
          hasNextPage: next !== null || found.positions.length > size,
        }
        const about: AboutList = {
          asOf: reader.asOf,
          count: once(() => reader.read(({ pool }) => countPlayers(pool, search, sortBy))),
          nicknameSearch: async () => {
            const { text, provider } = search
            return text === null || provider ? null : reader.read(({ pool }) => nicknameSearchOf(pool, text))
          },
        }
        return {
          edges: page.edges.map(({ cursor, node }) => ({ cursor, node: node.row })),
          pageInfo,
          about,
        }
      },
    },
    {
      ...namesOf('Player')[0],
      fields: (t) => ({
        asOf: t.field({ type: 'DateTime', description: AS_OF, resolve: (connection) => aboutOf(connection).asOf }),
        totalCount: t.field({
          type: 'Count',
          description: `The number of players in the whole list, counted up to ${inThousands(MAX_COUNT)}. When \`totalCountIsExact\` is false, there may be more.`,
          resolve: async (connection) => (await aboutOf(connection).count()).count,
        }),
        totalCountIsExact: t.boolean({
          description: 'False when there may be more players than `totalCount`.',
          resolve: async (connection) => (await aboutOf(connection).count()).isExact,
        }),
        nicknameSearch: t.field({
          type: NicknameSearchType,
          nullable: true,
          description: 'How nicknames were searched; null without such a search.',
          resolve: (connection) => aboutOf(connection).nicknameSearch(),
        }),
      }),
    },
    namesOf('Player')[1],
  ),
}))

function once<T>(task: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= task()
    return running
  }
}

const LISTS: Readonly<Record<PlayerSort, string>> = {
  created: 'player',
  'last login': 'player-by-login',
  level: 'player-by-level',
}
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

const printPosition = (sortBy: PlayerSort, { id, at }: ListPosition): string =>
  printCursor(LISTS[sortBy], sortBy === 'created' ? id : `${at ?? ''}~${id}`)

/** The position of a cursor; undefined for a cursor of a list in another order. */
function readPosition(sortBy: PlayerSort, cursor: string): ListPosition | undefined {
  const position = readCursor(LISTS[sortBy], cursor)
  if (position === undefined) return undefined
  if (sortBy === 'created') return isUuid(position) ? { id: position, at: null } : undefined
  const [at = '', id = ''] = position.split('~', 2)
  if (!isUuid(id)) return undefined
  if (sortBy === 'level') return /^\d{1,7}$/.test(at) ? { id, at } : undefined
  if (at === '') return { id, at: null }
  return isMoment(at) ? { id, at } : undefined
}

/**
 * Whether a text is a moment as lists print it. JavaScript accepts the 30th of February as a day in March; Postgres
 * does not.
 */
function isMoment(text: string): boolean {
  const at = new Date(text)
  return MOMENT.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().slice(0, 19) === text.slice(0, 19)
}

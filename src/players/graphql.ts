import { orNull } from '../base/errors.ts'
import { requirePlatform, requirePlayer } from '../callers/access.ts'
import { printCursor, readCursor } from '../declare/cursor.ts'
import { globalId } from '../declare/global-id.ts'
import { builder } from '../declare/graphql/builder.ts'
import { NodeType, nodesOf } from '../declare/graphql/node.ts'
import { forwardPage, namesOf, readList } from '../declare/graphql/page.ts'
import { answerType, argsOf, enumType, fieldsOf, inputOf } from '../declare/graphql/shapes.ts'
import { shape, uuid } from '../declare/shape.ts'
import { findPlayer } from './find-player.ts'
import { findReadable, findReadables } from './graphql-readable.ts'
import { admitPlayer, BAN_KINDS, type Ban, banOf, STATUSES, type Standing, statusOf } from './player-status.ts'
import { identity, profile } from './read-player.ts'
import { playerRequest, storageDeleteRequest, storageGetRequest, storageSetRequest } from './requests.ts'
import {
  deleteStorage,
  deleteStorageCall,
  listStorage,
  setStorage,
  setStorageCall,
  storageEntry,
  storedKey,
  writtenValue,
} from './storage.ts'

const StorageEntryType = answerType('StorageEntry', storageEntry)

const StorageKeyType = answerType('StorageKey', storedKey)

const IdentityType = builder.prismaObject('Identity', {
  fields: (t) => ({
    ...fieldsOf(t, identity.members),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time at which it was linked.' }),
  }),
})

/** The order of bytes, as over REST: the sort order of text depends on the database. */
export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

const PlayerStatus = enumType('PlayerStatus', STATUSES, {
  description: 'Whether a player can play.',
  values: {
    active: 'The player can play.',
    banned: "The player's calls are refused, or its logins alone, until the ban ends or is lifted.",
    deleted: "The player's personal data is erased, and its calls are refused permanently.",
  },
})

export const BanKindType = enumType('BanKind', BAN_KINDS, {
  description: 'The calls of a banned player that are refused.',
  values: {
    everything: 'All calls. Sockets and streams are closed.',
    login: 'Logins and refreshes. The player plays on until its access token expires, at most a day later.',
  },
})

const BanType = builder.objectRef<Ban>('Ban').implement({
  description: 'A ban of a player that has not ended.',
  fields: (t) => ({
    kind: t.expose('kind', { type: BanKindType, description: 'The calls that are refused.' }),
    until: t.expose('until', {
      type: 'DateTime',
      nullable: true,
      description: 'When it ends by itself. Null for a ban that is to be lifted.',
    }),
    publicReason: t.exposeString('reason', { nullable: true, description: 'The reason that the player sees.' }),
  }),
})

const STANDING = { status: true, banKind: true, banUntil: true, banReason: true } as const

export const PlayerType = builder.prismaObject('Player', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('Player', id) }),
    playerId: t.exposeID('id'),
    environment: t.string({
      description: 'The name of its environment, such as `production`.',
      select: { environment: { select: { name: true } } },
      resolve: ({ environment }) => environment.name,
    }),
    status: t.field({
      type: PlayerStatus,
      description: 'Whether the player can play.',
      select: STANDING,
      resolve: (row) => statusOf(row as Standing),
    }),
    ban: t.field({
      type: BanType,
      nullable: true,
      description: 'The ban of the player. Null for one that is not banned.',
      select: STANDING,
      resolve: (row) => banOf(row as Standing),
    }),
    ...fieldsOf(t, profile),
    lastLoginAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'The last login; null without one, and for a deleted player. A token refresh is no login.',
      select: { lastLogin: { select: { loggedInAt: true } } },
      resolve: ({ lastLogin }) => lastLogin?.loggedInAt ?? null,
    }),
    identities: t.field({
      extensions: { size: 2 },
      description: 'The identities that log the player in, by provider and subject.',
      type: [IdentityType],
      select: (_args, _context, nested) => ({ identities: nested() }),
      resolve: ({ identities }) =>
        [...identities].sort((a, b) => byBytes(a.provider, b.provider) || byBytes(a.subject, b.subject)),
    }),
    storage: t.field({
      type: [StorageEntryType],
      description: 'The storage, by key: all of it, or these keys.',
      args: argsOf(storageGetRequest),
      resolve: async ({ environmentId, id }, args, context) => {
        const { keys } = storageGetRequest.readInput(args)
        const byOperator = (await context.caller()).kind === 'platform'
        const answer = await context.storageAnswer()
        const stored = await answer.read({ environmentId, playerId: id }, keys, { byOperator })
        return [...stored.values()]
      },
    }),
  }),
})

builder.prismaObjectFields('Player', (t) => ({
  storageKeys: t.connection(
    {
      type: StorageKeyType,
      description:
        'The keys of the storage in the order of their bytes, with their sizes, so that a full storage can be read in pieces.',
      resolve: async ({ environmentId, id: playerId }, args, context) => {
        const { size, after } = readList(playerRequest, args, (cursor) => readCursor('storage', cursor))
        const byOperator = (await context.caller()).kind === 'platform'
        const asked = { after: after ?? '', first: size }
        const { keys, next } = await context.service.run(
          listStorage({ environmentId, playerId }, asked, { byOperator }),
        )
        const { edges, pageInfo } = forwardPage(keys, { size, after }, ({ key }) => printCursor('storage', key))
        return { edges, pageInfo: { ...pageInfo, hasNextPage: next !== null } }
      },
    },
    ...namesOf('StorageKey'),
  ),
}))

nodesOf(
  'Player',
  ['uuid'],
  async (context, [playerId = '']) => {
    const player = await findReadable(context, playerId)
    if (!player) return null
    const { environmentId, playerId: id } = player
    return context.prisma.player.findUnique({ where: { environmentId_id: { environmentId, id } } })
  },
  {
    async loadAll(context, ids, query) {
      const playerIds = ids.map(([playerId = '']) => playerId.toLowerCase())
      const found = [...(await findReadables(context, playerIds)).values()]
      const environments = [...new Set(found.map(({ environmentId }) => environmentId))]
      const rows = await context.prisma.player.findMany({
        ...query(),
        where: { environmentId: { in: environments }, id: { in: found.map(({ playerId }) => playerId) } },
      })
      const byId = new Map(rows.map((row) => [row.id, row]))
      return playerIds.map((id) => byId.get(id) ?? null)
    },
  },
)

const playerQueryRequest = shape({ id: uuid("The player's id: its `playerId`, or its `id`.", 'Player') })

builder.queryFields((t) => ({
  me: t.prismaField({
    type: 'Player',
    description: 'The calling player.',
    resolve: async (query, _root, _args, context) => {
      const caller = await requirePlayer(context)
      await context.service.runAs(caller, admitPlayer(caller))
      const { environmentId, playerId: id } = caller
      return context.prisma.player.findUniqueOrThrow({ ...query, where: { environmentId_id: { environmentId, id } } })
    },
  }),

  player: t.prismaField({
    type: 'Player',
    nullable: true,
    description: "A player of the key's project. Null for a missing one.",
    args: argsOf(playerQueryRequest),
    resolve: async (query, _root, args, context) => {
      const { projectId } = await requirePlatform(context, 'players')
      const { id: playerId } = playerQueryRequest.readInput(args)
      const selection = { ...query }
      const found = await orNull(findPlayer(context.service.pool, projectId, playerId), 'playerNotFound')
      if (!found) return null
      const { environmentId, playerId: id } = found
      return context.prisma.player.findUnique({ ...selection, where: { environmentId_id: { environmentId, id } } })
    },
  }),
}))

const StoredText = answerType('StoredText', writtenValue)

const SetStoragePayload = builder
  .objectRef<{ storage: { key: string; value: string }[] }>('SetStoragePayload')
  .implement({
    fields: (t) => ({
      storage: t.field({ type: [StoredText], description: 'The written values.', resolve: ({ storage }) => storage }),
    }),
  })

const DeleteStoragePayload = builder.objectRef<{ keys: readonly string[] }>('DeleteStoragePayload').implement({
  fields: (t) => ({
    keys: t.stringList({ description: 'The removed keys.', resolve: ({ keys }) => [...keys] }),
  }),
})

builder.mutationFields((t) => ({
  setStorage: t.field({
    type: SetStoragePayload,
    description: "Merges values into the calling player's storage, all or nothing.",
    args: inputOf('SetStorageInput', storageSetRequest),
    resolve: async (_root, { input }, context) => {
      const player = await requirePlayer(context, setStorageCall.action)
      const { values } = storageSetRequest.readInput(input)
      await context.service.runAs(player, setStorage(player, values))
      return { storage: [...values].map(([key, value]) => ({ key, value })) }
    },
  }),
  deleteStorage: t.field({
    type: DeleteStoragePayload,
    description: "Removes keys from the calling player's storage. Missing keys are no error.",
    args: inputOf('DeleteStorageInput', storageDeleteRequest),
    resolve: async (_root, { input }, context) => {
      const player = await requirePlayer(context, deleteStorageCall.action)
      const { keys } = storageDeleteRequest.readInput(input)
      await context.service.runAs(player, deleteStorage(player, keys))
      return { keys }
    },
  }),
}))

import { ACTIONS } from '../audit/actions.ts'
import { findTarget, requirePlatform } from '../auth/access.ts'
import type { AddXpResult } from '../battlepass/add-xp.ts'
import type { ClaimResult } from '../battlepass/claim-tier.ts'
import { AddXpResultType, ClaimTierResultType, TrackType } from '../battlepass/graphql.ts'
import { readNodeInput } from '../battlepass/wire.ts'
import { Fields, isId } from '../fields.ts'
import { builder } from '../graphql/builder.ts'
import type { Context } from '../graphql/context.ts'
import { FOREIGN_CURSOR, pageOf, readForwardPage } from '../graphql/page.ts'
import { MAX_INT64 } from '../json.ts'
import { findPlayer, searchPlayers } from '../players/find-player.ts'
import { PlayerStatus, PlayerType } from '../players/graphql.ts'
import type { PlayerRef } from '../players/standing.ts'
import { readKeys, readStorageValues } from '../players/wire.ts'
import { findEnvironment } from '../projects/projects.ts'
import { TRACKS } from '../scenario/definition.ts'
import { readRunId } from '../scenario/wire.ts'
import {
  banPlayer,
  cancelRun,
  creditWallet,
  debitWallet,
  deletePlayer,
  deletePlayerStorage,
  endSessions,
  grantPremium,
  grantTier,
  grantXp,
  type KeyedCall,
  resetPass,
  resetTier,
  revokePremium,
  type SupportCall,
  setPlayerStorage,
  unbanPlayer,
  unlinkIdentity,
} from './support.ts'

const MAX_REASON = 500
const MAX_KEY = 255
const MAX_CURRENCY = 64
const MAX_SOURCE = 64

interface Payload {
  readonly player: PlayerRef
}

const whereOf = ({ player: { environmentId, playerId: id } }: Payload) => ({ environmentId_id: { environmentId, id } })

const PlayerPayload = builder.objectRef<Payload>('PlayerPayload').implement({
  description: 'What an action of support leaves.',
  fields: (t) => ({
    player: t.prismaField({
      type: 'Player',
      resolve: (query, payload, _args, { prisma }) =>
        prisma.player.findUniqueOrThrow({ ...query, where: whereOf(payload) }),
    }),
  }),
})

const ChangePayload = builder.objectRef<Payload & { changed: boolean }>('ChangePayload').implement({
  description: 'What an action of support leaves, and whether there was anything to do.',
  fields: (t) => ({
    player: t.prismaField({
      type: 'Player',
      resolve: (query, payload, _args, { prisma }) =>
        prisma.player.findUniqueOrThrow({ ...query, where: whereOf(payload) }),
    }),
    changed: t.exposeBoolean('changed', { description: 'There was something to do, and it is done.' }),
  }),
})

const WalletPayload = builder.objectRef<Payload & { balance: bigint }>('WalletPayload').implement({
  description: 'What `creditWallet` and `debitWallet` leave.',
  fields: (t) => ({
    player: t.prismaField({
      type: 'Player',
      resolve: (query, payload, _args, { prisma }) =>
        prisma.player.findUniqueOrThrow({ ...query, where: whereOf(payload) }),
    }),
    balance: t.field({ type: 'Int64', description: 'The balance after it.', resolve: ({ balance }) => balance }),
  }),
})

const GrantXpPayload = builder.objectRef<Payload & { result: AddXpResult }>('GrantXpPayload').implement({
  fields: (t) => ({
    player: t.prismaField({
      type: 'Player',
      resolve: (query, payload, _args, { prisma }) =>
        prisma.player.findUniqueOrThrow({ ...query, where: whereOf(payload) }),
    }),
    result: t.field({ type: AddXpResultType, resolve: ({ result }) => result }),
  }),
})

const GrantTierPayload = builder.objectRef<Payload & { result: ClaimResult }>('GrantTierPayload').implement({
  fields: (t) => ({
    player: t.prismaField({
      type: 'Player',
      resolve: (query, payload, _args, { prisma }) =>
        prisma.player.findUniqueOrThrow({ ...query, where: whereOf(payload) }),
    }),
    result: t.field({ type: ClaimTierResultType, resolve: ({ result }) => result }),
  }),
})

/**
 * The call of an operator on a player of its project, with what else it takes: every fault at once. Whoever may not is
 * refused before anything is read, which is written down; another project's player is one that does not exist, and the
 * attempt is written down, too.
 */
async function readCall<Input>(
  context: Context,
  action: string,
  sent: { readonly playerId: string },
  reader: (fields: Fields) => Input,
): Promise<{ call: SupportCall; input: Input }> {
  const attempt = { action: `player.${action}`, target: sent.playerId }
  const caller = await requirePlatform(context, 'operator', attempt)
  const { playerId, reason, input } = Fields.ofInput(sent).read((fields) => ({
    playerId: fields.optionalId('playerId') ?? '',
    reason: fields.text('reason', { max: MAX_REASON }),
    input: reader(fields),
  }))
  const find = () => findPlayer(context.service.pool, caller.projectId, playerId)
  return { call: { caller, reason, player: await findTarget(context, caller, attempt, find) }, input }
}

async function readKeyedCall<Input>(
  context: Context,
  action: string,
  sent: { readonly playerId: string },
  reader: (fields: Fields) => Input,
): Promise<{ call: KeyedCall; input: Input }> {
  const { call, input } = await readCall(context, action, sent, (fields) => ({
    own: reader(fields),
    idempotencyKey: fields.text('idempotencyKey', { max: MAX_KEY }),
  }))
  return { call: { ...call, idempotencyKey: input.idempotencyKey }, input: input.own }
}

const nothingElse = (): null => null

const readMoney = (fields: Fields) => ({
  currency: fields.text('currency', { max: MAX_CURRENCY }),
  amount: fields.int64('amount', { min: 1n, max: MAX_INT64 }),
})

const readIdentity = (fields: Fields) => ({
  provider: fields.text('provider', { max: 64 }),
  subject: fields.text('subject', { max: 255 }),
})

const readXp = (fields: Fields) => ({
  ...readNodeInput(fields),
  amount: fields.int64('amount', { min: 1n, max: MAX_INT64 }),
  source: fields.optionalText('source', { max: MAX_SOURCE }) ?? 'support',
})

const readTier = (fields: Fields) => ({
  ...readNodeInput(fields),
  level: fields.optionalInt32('level', { min: 0 }) ?? 0,
  track: fields.oneOf('track', TRACKS),
})

const whom = { playerId: true, reason: 'Kept in the audit log; the player never sees it.' } as const
const idempotency = 'The same key and request is done once, and answered alike for seven days.'

const simpleInput = (name: string) =>
  builder.inputType(name, {
    fields: (t) => ({
      playerId: t.id({ required: whom.playerId }),
      reason: t.string({ required: true, description: whom.reason }),
    }),
  })

const moneyInput = (name: string) =>
  builder.inputType(name, {
    fields: (t) => ({
      playerId: t.id({ required: true }),
      currency: t.string({ required: true }),
      amount: t.field({ type: 'Int64', required: true, description: '1 or more.' }),
      reason: t.string({ required: true, description: whom.reason }),
      idempotencyKey: t.string({ required: true, description: idempotency }),
    }),
  })

const nodeInput = (name: string) =>
  builder.inputType(name, {
    fields: (t) => ({
      playerId: t.id({ required: true }),
      scenarioId: t.string({ required: true }),
      nodeId: t.string({ required: true }),
      reason: t.string({ required: true, description: whom.reason }),
    }),
  })

const BanPlayerInput = simpleInput('BanPlayerInput')
const UnbanPlayerInput = simpleInput('UnbanPlayerInput')
const DeletePlayerInput = simpleInput('DeletePlayerInput')
const EndSessionsInput = simpleInput('EndSessionsInput')
const CreditWalletInput = moneyInput('CreditWalletInput')
const DebitWalletInput = moneyInput('DebitWalletInput')
const GrantPremiumInput = nodeInput('GrantPremiumInput')
const RevokePremiumInput = nodeInput('RevokePremiumInput')
const ResetPassInput = nodeInput('ResetPassInput')

const UnlinkIdentityInput = builder.inputType('UnlinkIdentityInput', {
  fields: (t) => ({
    playerId: t.id({ required: true }),
    provider: t.string({ required: true, description: '`custom`, or `custom:` and the name of another provider.' }),
    subject: t.string({ required: true }),
    reason: t.string({ required: true, description: whom.reason }),
  }),
})

const GrantXpInput = builder.inputType('GrantXpInput', {
  fields: (t) => ({
    playerId: t.id({ required: true }),
    scenarioId: t.string({ required: true }),
    nodeId: t.string({ required: true }),
    amount: t.field({ type: 'Int64', required: true, description: '1 or more.' }),
    source: t.string({ description: '`support` unless given.' }),
    reason: t.string({ required: true, description: whom.reason }),
    idempotencyKey: t.string({ required: true, description: idempotency }),
  }),
})

const GrantTierInput = builder.inputType('GrantTierInput', {
  fields: (t) => ({
    playerId: t.id({ required: true }),
    scenarioId: t.string({ required: true }),
    nodeId: t.string({ required: true }),
    level: t.int({ required: true }),
    track: t.field({ type: TrackType, required: true }),
    reason: t.string({ required: true, description: whom.reason }),
    idempotencyKey: t.string({ required: true, description: idempotency }),
  }),
})

const ResetTierInput = builder.inputType('ResetTierInput', {
  fields: (t) => ({
    playerId: t.id({ required: true }),
    scenarioId: t.string({ required: true }),
    nodeId: t.string({ required: true }),
    level: t.int({ required: true }),
    track: t.field({ type: TrackType, required: true }),
    reason: t.string({ required: true, description: whom.reason }),
  }),
})

const CancelRunInput = builder.inputType('CancelRunInput', {
  fields: (t) => ({
    playerId: t.id({ required: true }),
    runId: t.string({ required: true }),
    reason: t.string({ required: true, description: whom.reason }),
  }),
})

const SetPlayerStorageInput = builder.inputType('SetPlayerStorageInput', {
  fields: (t) => ({
    playerId: t.id({ required: true }),
    values: t.field({ type: 'JSONObject', required: true, description: 'Values by key; other keys stay.' }),
    reason: t.string({ required: true, description: whom.reason }),
  }),
})

const DeletePlayerStorageInput = builder.inputType('DeletePlayerStorageInput', {
  fields: (t) => ({
    playerId: t.id({ required: true }),
    keys: t.stringList({ required: true }),
    reason: t.string({ required: true, description: whom.reason }),
  }),
})

builder.mutationFields((t) => ({
  banPlayer: t.field({
    type: PlayerPayload,
    description: 'Bans a player: its calls are refused from the next one on, and what it has open closes.',
    args: { input: t.arg({ type: BanPlayerInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call } = await readCall(context, 'ban', input, nothingElse)
      await context.service.run(banPlayer(call))
      return call
    },
  }),
  unbanPlayer: t.field({
    type: PlayerPayload,
    description: 'Lets a banned player play again. One that is deleted stays so.',
    args: { input: t.arg({ type: UnbanPlayerInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call } = await readCall(context, 'unban', input, nothingElse)
      await context.service.run(unbanPlayer(call))
      return call
    },
  }),
  deletePlayer: t.field({
    type: PlayerPayload,
    description:
      'Deletes a player for good: profile, storage, login log and sessions are erased; ledgers, claims and identities stay.',
    args: { input: t.arg({ type: DeletePlayerInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call } = await readCall(context, 'delete', input, nothingElse)
      await context.service.run(deletePlayer(call))
      return call
    },
  }),
  endSessions: t.field({
    type: PlayerPayload,
    description: 'Ends all logins of a player. Access tokens live out their time, sockets close; it may log in again.',
    args: { input: t.arg({ type: EndSessionsInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call } = await readCall(context, 'end_sessions', input, nothingElse)
      await context.service.run(endSessions(call))
      return call
    },
  }),
  unlinkIdentity: t.field({
    type: PlayerPayload,
    description:
      'Takes an identity from a player and ends all its logins, since it is not known which came by that identity. The next login with it makes a new player, or it is linked elsewhere.',
    args: { input: t.arg({ type: UnlinkIdentityInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: identity } = await readCall(context, 'unlink_identity', input, readIdentity)
      await context.service.run(unlinkIdentity(call, identity))
      return call
    },
  }),
  creditWallet: t.field({
    type: WalletPayload,
    description: 'Gives money to a player.',
    args: { input: t.arg({ type: CreditWalletInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: money } = await readKeyedCall(context, 'credit_wallet', input, readMoney)
      return { ...call, ...(await context.service.run(creditWallet(call, money))) }
    },
  }),
  debitWallet: t.field({
    type: WalletPayload,
    description: 'Takes money from a player; more than it has is refused.',
    args: { input: t.arg({ type: DebitWalletInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: money } = await readKeyedCall(context, 'debit_wallet', input, readMoney)
      return { ...call, ...(await context.service.run(debitWallet(call, money))) }
    },
  }),
  grantXp: t.field({
    type: GrantXpPayload,
    description: "Adds xp in the player's active run, by the rules of the game.",
    args: { input: t.arg({ type: GrantXpInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: xp } = await readKeyedCall(context, 'grant_xp', input, readXp)
      return { ...call, result: await context.service.run(grantXp(call, xp)) }
    },
  }),
  grantTier: t.field({
    type: GrantTierPayload,
    description: 'Claims a tier for a player, also one that it has not reached. Premium tiers need premium.',
    args: { input: t.arg({ type: GrantTierInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: tier } = await readKeyedCall(context, 'grant_tier', input, readTier)
      return { ...call, result: await context.service.run(grantTier(call, tier)) }
    },
  }),
  resetTier: t.field({
    type: ChangePayload,
    description: 'Makes one claimed tier of one player claimable again. What it granted stays.',
    args: { input: t.arg({ type: ResetTierInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: place } = await readCall(context, 'reset_tier', input, readTier)
      return { ...call, ...(await context.service.run(resetTier(call, place))) }
    },
  }),
  grantPremium: t.field({
    type: ChangePayload,
    description: 'Gives premium for nothing. Refused where none is sold.',
    args: { input: t.arg({ type: GrantPremiumInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: place } = await readCall(context, 'grant_premium', input, readNodeInput)
      return { ...call, ...(await context.service.run(grantPremium(call, place))) }
    },
  }),
  revokePremium: t.field({
    type: ChangePayload,
    description: 'Takes premium back. Refused while premium tiers are claimed: reset them first.',
    args: { input: t.arg({ type: RevokePremiumInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: place } = await readCall(context, 'revoke_premium', input, readNodeInput)
      return { ...call, ...(await context.service.run(revokePremium(call, place))) }
    },
  }),
  resetPass: t.field({
    type: ChangePayload,
    description: 'Puts a pass back to its beginning: no xp, no premium, no claims. What was granted stays.',
    args: { input: t.arg({ type: ResetPassInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: place } = await readCall(context, 'reset_pass', input, readNodeInput)
      return { ...call, ...(await context.service.run(resetPass(call, place))) }
    },
  }),
  cancelRun: t.field({
    type: PlayerPayload,
    description: 'Ends a run as it stands. The player may start another.',
    args: { input: t.arg({ type: CancelRunInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: run } = await readCall(context, 'cancel_run', input, (fields) => ({
        runId: readRunId(fields),
      }))
      await context.service.run(cancelRun(call, run))
      return call
    },
  }),
  setPlayerStorage: t.field({
    type: PlayerPayload,
    description: "Merges values into a player's storage, all or nothing.",
    args: { input: t.arg({ type: SetPlayerStorageInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: values } = await readCall(context, 'set_storage', input, readStorageValues)
      await context.service.run(setPlayerStorage(call, values))
      return call
    },
  }),
  deletePlayerStorage: t.field({
    type: PlayerPayload,
    description: "Removes keys from a player's storage. Those that it does not have are no fault.",
    args: { input: t.arg({ type: DeletePlayerStorageInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: keys } = await readCall(context, 'delete_storage', input, readKeys)
      await context.service.run(deletePlayerStorage(call, keys))
      return call
    },
  }),
}))

builder.prismaObject('AuditLogEntry', {
  fields: (t) => ({
    id: t.exposeID('id'),
    at: t.expose('createdAt', {
      description: 'When it was done; for what was denied, when it was tried first.',
      type: 'DateTime',
    }),
    actor: t.exposeString('actor', {
      description:
        '`platform_key:` and its id; for what was denied also `player:` and its id, and `player:*` for those of a flood.',
    }),
    action: t.exposeString('action', {
      description: 'Such as `player.ban`; `.denied` behind what was refused. docs/access.md has them all.',
    }),
    target: t.exposeString('target', {
      description:
        'What it was done to, such as the id of a player, a key or a scenario. Empty for what was denied in a flood.',
    }),
    before: t.exposeString('before', {
      nullable: true,
      description: 'What was there, as JSON text; null where nothing was.',
    }),
    after: t.exposeString('after', {
      nullable: true,
      description: 'What is there now, as JSON text; null where nothing is.',
    }),
    reason: t.exposeString('reason', {
      description: 'Why, in the words of the operator; null for what was denied.',
      nullable: true,
    }),
    attempts: t.exposeInt('attempts', {
      description: 'How often it was tried within a minute, for what was denied; else 1.',
    }),
  }),
})

builder.queryFields((t) => ({
  auditLog: t.prismaConnection({
    type: 'AuditLogEntry',
    cursor: 'projectId_id',
    description: "What operators changed, or tried to, in the key's project: the latest first.",
    args: {
      action: t.arg.string({ description: 'Of this action alone, to the letter, such as `player.ban`.' }),
      target: t.arg.string({
        description: 'About this target alone, such as the id of a player, a key or a scenario.',
      }),
      actor: t.arg.string({ description: 'By this actor alone, such as `platform_key:` and its id.' }),
      from: t.arg({ type: 'DateTime', description: 'The first moment that counts.' }),
      to: t.arg({ type: 'DateTime', description: 'The first moment that does not count any more.' }),
    },
    resolve: async (query, _root, args, context) => {
      const attempt = { action: ACTIONS.readAuditLog, target: 'audit_log' }
      const { projectId } = await requirePlatform(context, 'admin', attempt)
      const { action, target, actor, from, to } = Fields.ofInput(args).read((fields) => ({
        action: fields.optionalText('action', { max: 128 }),
        target: fields.optionalText('target', { max: 255 }),
        actor: fields.optionalText('actor', { max: 128 }),
        ...readRange(fields, args),
      }))
      const { page, beyond } = pageOf(query, { scope: { projectId }, order: 'desc' })
      const where = {
        projectId,
        ...beyond,
        ...(action !== null && { action }),
        ...(target !== null && { target }),
        ...(actor !== null && { actor }),
        ...((from || to) && {
          createdAt: { ...(from && { gte: from }), ...(to && { lt: to }) },
          AND: idsAround(from, to),
        }),
      }
      return context.prisma.auditLogEntry.findMany({ ...page, where })
    },
  }),
  player: t.prismaField({
    type: 'Player',
    description: "A player of the key's project.",
    args: { id: t.arg.id({ required: true }) },
    resolve: async (query, _root, args, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const playerId = Fields.ofInput(args).read((fields) => fields.optionalId('id')) ?? ''
      const { environmentId, playerId: id } = await findPlayer(context.service.pool, projectId, playerId)
      return context.prisma.player.findUniqueOrThrow({ ...query, where: { environmentId_id: { environmentId, id } } })
    },
  }),
  players: t.connection({
    type: PlayerType,
    description: 'The players of an environment, the newest first.',
    args: {
      environment: t.arg.string({ required: true }),
      search: t.arg.string({
        description: 'An id, the beginning of a nickname in any letter case, or a subject.',
      }),
      provider: t.arg.string({
        description: 'With it the search is for a subject of this provider: `custom`, or `custom:` and its name.',
      }),
      status: t.arg({ type: PlayerStatus }),
    },
    resolve: async (_root, args, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const { environment, search, provider, size, after } = Fields.ofInput(args).read((fields) => ({
        size: readForwardPage(fields, args),
        after: readPlayerCursor(fields, args.after),
        environment: fields.text('environment', { max: 32 }),
        search: fields.optionalText('search', { max: 255 }),
        provider: readSearchedProvider(fields, args.search),
      }))
      const environmentId = await findEnvironment(context.service.pool, projectId, environment)
      const found = await searchPlayers(
        context.service.operatorPool,
        { environmentId, text: search, provider, status: args.status ?? null },
        { after, limit: size + 1 },
      )
      const ids = found.slice(0, size)
      const rows = await context.prisma.player.findMany({ where: { environmentId, id: { in: ids } } })
      const byId = new Map(rows.map((row) => [row.id, row]))
      const edges = ids.flatMap((id) => {
        const node = byId.get(id)
        return node ? [{ cursor: printPlayerCursor(id), node }] : []
      })
      return {
        edges,
        pageInfo: {
          startCursor: edges[0]?.cursor ?? null,
          endCursor: edges.at(-1)?.cursor ?? null,
          hasPreviousPage: after !== null,
          hasNextPage: found.length > size,
        },
      }
    },
  }),
}))

function readSearchedProvider(fields: Fields, search: string | null | undefined): string | null {
  const provider = fields.optionalText('provider', { max: 64 })
  // All who ever came by a provider are nobody's page.
  if (provider !== null && !search) return fields.fault('provider', 'must be given with search', null)
  return provider
}

interface Range {
  readonly from: Date | null
  readonly to: Date | null
}

function readRange(fields: Fields, { from = null, to = null }: Partial<Range>): Range {
  if (from && to && from >= to) fields.fault('to', 'must be after from', null)
  return { from: from && sinceThe1970s(from), to: to && sinceThe1970s(to) }
}

/** Nothing is older, and Prisma writes years that Postgres does not have. */
const sinceThe1970s = (moment: Date): Date => (moment.getTime() < 0 ? new Date(0) : moment)

const DAY_MS = 86_400_000

/** Ids are in the order of the clocks that made them: a day around a range they bound what has to be looked at. */
function idsAround(from: Date | null, to: Date | null) {
  const first = from && firstIdAt(from.getTime() - DAY_MS)
  const last = to && firstIdAt(to.getTime() + DAY_MS)
  return { id: { ...(first && { gte: first }), ...(last && { lt: last }) } }
}

/** No id (UUIDv7) of a moment is below this one. */
function firstIdAt(milliseconds: number): string {
  const hex = Math.min(Math.max(milliseconds, 0), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

const printPlayerCursor = (id: string): string => Buffer.from(`player:${id}`).toString('base64url')

/** The id that a cursor names; null without a cursor. */
function readPlayerCursor(fields: Fields, cursor: string | null | undefined): string | null {
  if (cursor === null || cursor === undefined) return null
  const id = Buffer.from(cursor, 'base64url').toString().replace('player:', '')
  return isId(id) && printPlayerCursor(id) === cursor ? id : fields.fault('after', FOREIGN_CURSOR, null)
}

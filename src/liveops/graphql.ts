import type { AddXpResult } from '../battlepass/add-xp.ts'
import type { ClaimResult } from '../battlepass/claim-tier.ts'
import { AddXpResultType, ClaimTierResultType, TrackType } from '../battlepass/graphql.ts'
import { readNodeInput } from '../battlepass/wire.ts'
import { invalidRequest } from '../errors.ts'
import { Fields } from '../fields.ts'
import { builder } from '../graphql/builder.ts'
import { type Context, requireActor, requirePlatform } from '../graphql/context.ts'
import { readForwardPage } from '../graphql/page.ts'
import { MAX_INT64 } from '../json.ts'
import { PlayerStatus, PlayerType } from '../players/graphql.ts'
import type { PlayerRef } from '../players/standing.ts'
import { readKeys, readStorageValues } from '../players/wire.ts'
import { TRACKS } from '../scenario/definition.ts'
import { readRunId } from '../scenario/wire.ts'
import type { KeyedCall, SupportCall } from './support.ts'

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
    changed: t.exposeBoolean('changed'),
  }),
})

const WalletPayload = builder.objectRef<Payload & { balance: bigint }>('WalletPayload').implement({
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
 * refused before anything is read, which is written down; another project's player is one that does not exist.
 */
async function readCall<Input>(
  context: Context,
  action: string,
  sent: { readonly playerId: string },
  reader: (fields: Fields) => Input,
): Promise<{ call: SupportCall; input: Input }> {
  const caller = await requireActor(context, 'operator', {
    action: `player.${action}`,
    target: sent.playerId,
  })
  const { playerId, reason, input } = Fields.ofInput(sent).read((fields) => ({
    playerId: fields.optionalId('playerId') ?? '',
    reason: fields.text('reason', { max: MAX_REASON }),
    input: reader(fields),
  }))
  return { call: { caller, reason, player: await context.operations.findPlayer(caller.projectId, playerId) }, input }
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
      await context.operations.banPlayer(call)
      return call
    },
  }),
  unbanPlayer: t.field({
    type: PlayerPayload,
    args: { input: t.arg({ type: UnbanPlayerInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call } = await readCall(context, 'unban', input, nothingElse)
      await context.operations.unbanPlayer(call)
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
      await context.operations.deletePlayer(call)
      return call
    },
  }),
  endSessions: t.field({
    type: PlayerPayload,
    description: 'Ends all logins of a player. Access tokens live out their time, sockets close; it may log in again.',
    args: { input: t.arg({ type: EndSessionsInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call } = await readCall(context, 'end_sessions', input, nothingElse)
      await context.operations.endSessions(call)
      return call
    },
  }),
  unlinkIdentity: t.field({
    type: PlayerPayload,
    description: 'Takes an identity from a player. Its next login makes a new player, or links elsewhere.',
    args: { input: t.arg({ type: UnlinkIdentityInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: identity } = await readCall(context, 'unlink_identity', input, readIdentity)
      await context.operations.unlinkIdentity(call, identity)
      return call
    },
  }),
  creditWallet: t.field({
    type: WalletPayload,
    args: { input: t.arg({ type: CreditWalletInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: money } = await readKeyedCall(context, 'credit_wallet', input, readMoney)
      return { ...call, ...(await context.operations.creditWallet(call, money)) }
    },
  }),
  debitWallet: t.field({
    type: WalletPayload,
    description: 'Takes money from a player; more than it has is refused.',
    args: { input: t.arg({ type: DebitWalletInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: money } = await readKeyedCall(context, 'debit_wallet', input, readMoney)
      return { ...call, ...(await context.operations.debitWallet(call, money)) }
    },
  }),
  grantXp: t.field({
    type: GrantXpPayload,
    description: "Adds xp in the player's active run, by the rules of the game.",
    args: { input: t.arg({ type: GrantXpInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: xp } = await readKeyedCall(context, 'grant_xp', input, readXp)
      return { ...call, result: await context.operations.grantXp(call, xp) }
    },
  }),
  grantTier: t.field({
    type: GrantTierPayload,
    description: 'Claims a tier for a player, also one that it has not reached. Premium tiers need premium.',
    args: { input: t.arg({ type: GrantTierInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: tier } = await readKeyedCall(context, 'grant_tier', input, readTier)
      return { ...call, result: await context.operations.grantTier(call, tier) }
    },
  }),
  resetTier: t.field({
    type: ChangePayload,
    description: 'Makes one claimed tier of one player claimable again. What it granted stays.',
    args: { input: t.arg({ type: ResetTierInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: place } = await readCall(context, 'reset_tier', input, readTier)
      return { ...call, ...(await context.operations.resetTier(call, place)) }
    },
  }),
  grantPremium: t.field({
    type: ChangePayload,
    description: 'Gives premium for nothing.',
    args: { input: t.arg({ type: GrantPremiumInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: place } = await readCall(context, 'grant_premium', input, readNodeInput)
      return { ...call, ...(await context.operations.grantPremium(call, place)) }
    },
  }),
  revokePremium: t.field({
    type: ChangePayload,
    description: 'Takes premium back. Refused while premium tiers are claimed: reset them first.',
    args: { input: t.arg({ type: RevokePremiumInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: place } = await readCall(context, 'revoke_premium', input, readNodeInput)
      return { ...call, ...(await context.operations.revokePremium(call, place)) }
    },
  }),
  resetPass: t.field({
    type: ChangePayload,
    description: 'Puts a pass back to its beginning: no xp, no premium, no claims. What was granted stays.',
    args: { input: t.arg({ type: ResetPassInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: place } = await readCall(context, 'reset_pass', input, readNodeInput)
      return { ...call, ...(await context.operations.resetPass(call, place)) }
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
      await context.operations.cancelRun(call, run)
      return call
    },
  }),
  setPlayerStorage: t.field({
    type: PlayerPayload,
    args: { input: t.arg({ type: SetPlayerStorageInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: values } = await readCall(context, 'set_storage', input, readStorageValues)
      await context.operations.setPlayerStorage(call, values)
      return call
    },
  }),
  deletePlayerStorage: t.field({
    type: PlayerPayload,
    args: { input: t.arg({ type: DeletePlayerStorageInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { call, input: keys } = await readCall(context, 'delete_storage', input, readKeys)
      await context.operations.deletePlayerStorage(call, keys)
      return call
    },
  }),
}))

builder.prismaObject('AuditLogEntry', {
  fields: (t) => ({
    id: t.exposeID('id'),
    at: t.expose('createdAt', { type: 'DateTime' }),
    actor: t.exposeString('actor', {
      description: '`platform_key:` and its id; `player:` and its id for what was denied.',
    }),
    action: t.exposeString('action', { description: 'Such as `player.ban`; `.denied` behind what was refused.' }),
    target: t.exposeString('target'),
    before: t.exposeString('before', { nullable: true, description: 'JSON text.' }),
    after: t.exposeString('after', { nullable: true, description: 'JSON text.' }),
    reason: t.exposeString('reason', { nullable: true }),
  }),
})

builder.queryFields((t) => ({
  auditLog: t.prismaConnection({
    type: 'AuditLogEntry',
    cursor: 'projectId_id',
    description: "What operators changed, or tried to, in the key's project: the latest first.",
    args: { action: t.arg.string(), target: t.arg.string(), actor: t.arg.string() },
    resolve: async (query, _root, args, context) => {
      const { projectId } = await requirePlatform(context, 'admin')
      const { action, target, actor } = Fields.ofInput(args).read((fields) => ({
        action: fields.optionalText('action', { max: 128 }),
        target: fields.optionalText('target', { max: 255 }),
        actor: fields.optionalText('actor', { max: 128 }),
      }))
      const where = {
        projectId,
        ...(action !== null && { action }),
        ...(target !== null && { target }),
        ...(actor !== null && { actor }),
      }
      return context.prisma.auditLogEntry.findMany({ ...query, where, orderBy: { id: 'desc' } })
    },
  }),
  player: t.prismaField({
    type: 'Player',
    description: "A player of the key's project.",
    args: { id: t.arg.id({ required: true }) },
    resolve: async (query, _root, args, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const playerId = Fields.ofInput(args).read((fields) => fields.optionalId('id')) ?? ''
      const { environmentId, playerId: id } = await context.operations.findPlayer(projectId, playerId)
      return context.prisma.player.findUniqueOrThrow({ ...query, where: { environmentId_id: { environmentId, id } } })
    },
  }),
  players: t.connection({
    type: PlayerType,
    description: 'The players of an environment, the newest first.',
    args: {
      environment: t.arg.string({ required: true }),
      search: t.arg.string({
        description: 'An id, the beginning of a nickname (in any case of the letters a to z), or a subject.',
      }),
      status: t.arg({ type: PlayerStatus }),
    },
    resolve: async (_root, args, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const { environment, search, size } = Fields.ofInput(args).read((fields) => ({
        size: readForwardPage(fields, args),
        environment: fields.text('environment', { max: 32 }),
        search: fields.optionalText('search', { max: 255 }),
      }))
      const environmentId = await context.operations.findEnvironment(projectId, environment)
      const after = args.after ? readPlayerCursor(args.after) : null
      const found = await context.operations.searchPlayers(
        { environmentId, text: search, status: args.status ?? null },
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

const printPlayerCursor = (id: string): string => Buffer.from(`player:${id}`).toString('base64url')

function readPlayerCursor(cursor: string): string {
  const [kind, id = ''] = Buffer.from(cursor, 'base64url').toString().split(':')
  if (kind !== 'player') throw invalidRequest({ path: 'after', message: 'must be a cursor that this service gave' })
  return Fields.ofInput({ after: id }).read((fields) => fields.optionalId('after')) ?? ''
}

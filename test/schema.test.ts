import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import {
  buildSchema,
  findBreakingChanges,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  parse,
  validate,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { nameNow, rightOf } from '../src/declare/graphql/field-marks.ts'
import { printSchemaFor } from '../src/dev/schema-for.ts'
import { printedSchema, schema } from '../src/schema.ts'
import { buildService } from './harness/service.ts'

const membersOf = (type: GraphQLInputType): readonly GraphQLInputField[] => {
  const named = getNamedType(type)
  return isInputObjectType(named) ? Object.values(named.getFields()) : []
}
const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'))
const fields = types
  .filter((type) => isObjectType(type) || isInterfaceType(type))
  .flatMap((type) => Object.values(type.getFields()).map((field) => ({ name: `${type.name}.${field.name}`, field })))

describe('the schema (contract 15)', () => {
  it('is the content of schema.graphql', async () => {
    const committed = await readFile(new URL('../schema.graphql', import.meta.url), 'utf8')
    expect(
      committed === printedSchema(),
      'schema.graphql is stale: run `npm run schema` and commit what it writes',
    ).toBe(true)
  })

  it.each(['player', 'operator'] as const)('has a part for each %s, in a file of its own', async (audience) => {
    const page = await readFile(new URL('../docs/access.md', import.meta.url), 'utf8')
    const committed = await readFile(new URL(`../schema.${audience}.graphql`, import.meta.url), 'utf8')
    expect(
      committed === printSchemaFor(audience, schema, page),
      'run `npm run schema`, and commit what it writes',
    ).toBe(true)
    const part = buildSchema(committed)
    const change = (one: GraphQLSchema, other: GraphQLSchema) =>
      findBreakingChanges(one, other).filter(({ type }) => !/REMOVED/.test(type))
    expect([...change(schema, part), ...findBreakingChanges(part, schema)]).toEqual([])
  })

  it('shows a player nothing that only operators may call or read, and operators nothing that only players call', async () => {
    const read = async (audience: string) =>
      buildSchema(await readFile(new URL(`../schema.${audience}.graphql`, import.meta.url), 'utf8'))
    const [player, operator] = [await read('player'), await read('operator')]
    const faultsOf = (part: GraphQLSchema, document: string) =>
      validate(part, parse(document)).map(({ message }) => message)
    const own = 'mutation ($input: ClaimTierInput!) { claimTier(input: $input) { error message } }'
    const events = 'subscription { events { __typename ... on LevelUpEvent { toLevel } } }'
    const ban = 'mutation ($input: BanPlayerInput!) { banPlayer(input: $input) { auditEntry { id } } }'
    expect([
      faultsOf(player, own),
      faultsOf(player, events),
      faultsOf(operator, events),
      faultsOf(operator, ban),
    ]).toEqual([[], [], [], []])
    expect(faultsOf(operator, own)).not.toEqual([])
    expect(faultsOf(player, ban)).not.toEqual([])
    expect(faultsOf(player, '{ me { playerId notes { text } } }')).toEqual([
      'Cannot query field "notes" on type "Player".',
    ])
  })

  it('has every document of the console in the part of operators', async () => {
    const part = buildSchema(await readFile(new URL('../schema.operator.graphql', import.meta.url), 'utf8'))
    const folder = new URL('../console/src/', import.meta.url)
    const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('operations.ts'))
    expect(files.length).toBeGreaterThan(0)
    const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')))
    const documents = texts.flatMap((text) =>
      [...text.replaceAll('@_unmask', '').matchAll(/graphql\(\s*`([^`]*)`/g)].map(([, document = '']) => document),
    )
    const whole = parse(documents.join('\n'))
    expect(validate(part, whole).map(({ message }) => message)).toEqual([])
  })

  it('allows null only where a value can be absent (contract 2.2)', () => {
    // Members of declared answers say so themselves. Of fields with a resolver of their own, these may be null.
    const byType: Readonly<Record<string, string>> = {
      AlertWebhook: 'failingSince failure link sentAt',
      AuditLogEntry: 'actorLabel after afterText before beforeText environment operator reason undoes',
      AuthProviders: 'apple device google',
      Ban: 'publicReason until',
      BattlePassDiff: 'announcedAt claimUntil endingAt endsAt price startsAt',
      BattlePassPreview: 'priceAfter priceBefore',
      Boost: 'endedAt',
      CalendarConflict: 'boostId endsAt nodeId publicationId scenarioId startsAt',
      CalendarSeason: 'nextScenarioId publicationId',
      ChangedDate: 'after before',
      ChangedNode: 'pass',
      ChangedPrice: 'after before',
      ClippedXp: 'source',
      CompletionInsight: 'rate',
      Currency: 'creditLimit',
      DenialReason: 'text',
      DraftComment: 'path resolvedAt resolvedBy',
      Environment: 'clock',
      Gift: 'levels premium rewards xp',
      GrantJob: 'approvedAt approvedBy expiresInDays finishedAt image note operator startedAt startsAt undoOf',
      GrantJobPlayer: 'actedAt amount cause messageId outcome player',
      GrantTarget: 'filter listId segment',
      InboxMessage: 'claimedAt image nodeId readAt scenarioId',
      LevelInsight: 'conversion',
      LoginFigures: 'attemptsPerLogin latency',
      LoginLogEntry: 'playerId subject',
      OddBodyCheck: 'message',
      PageInfo: 'endCursor startCursor',
      Player: 'ban deleteAt lastLoginAt',
      PlayerConnection: 'nicknameSearch',
      PlayerCreatedEvent: 'nickname provider',
      PlayerFilter:
        'createdFrom createdTo language lastLoginFrom lastLoginTo levelFrom levelTo nodeId premium region scenarioId status',
      PlayerNote: 'actorLabel operator',
      PreviewScenarioResult: 'currentVersion',
      Problem: 'alertWebhookId grantJobId nodeId provider publicationId scenarioId',
      Query:
        'auditLog battlePass battlePassInsight grantJob grantJobs loginLog node platformKeys player run scenario scenarioDiff scenarioDraft scenarioView sdkKeys season serverKeys singleSignOn',
      ReplayedLevel: 'medianDays medianStepDays',
      RewardGift: 'amount boost currency itemId',
      Run: 'cause endedAt',
      ScenarioDraft: 'approval',
      ScheduledPublication: 'diff endedAt expectedVersion failure operator version',
      SeasonSettlement: 'finishedAt startedAt',
      SupportListResult: 'error',
      TestAuthProviderPayload: 'avatarUrl claims claimsText data dataText nickname oddBody reason subject',
      TimelineEntry: 'claim event login message note',
      ValueChange: 'after afterText before beforeText',
      WebhookAttempt: 'cause error excerpt hint status',
      XpEntry: 'limitedBy reference',
      XpGift: 'amount source',
      XpOutliers: 'median',
      XpSource: 'source',
    }
    const mayBeAbsent = new Set(
      Object.entries(byType).flatMap(([type, names]) => names.split(' ').map((name) => `${type}.${name}`)),
    )
    for (const { name, field } of fields)
      if ((field.extensions.isDeclared || name.endsWith('.auditEntry')) && !isNonNullType(field.type))
        mayBeAbsent.add(name)
    // What a caller may not read is null, and the rest of the player stands.
    for (const { name, field } of fields) if (rightOf(field.extensions)) mayBeAbsent.add(name)
    const ofAnyEvent = /^\w*Event\.(scenarioId|nodeId|runId|handle)$/
    const nullable = fields.filter(({ field }) => !isNonNullType(field.type)).map(({ name }) => name)
    const isMutation = (name: string) => name.startsWith('Mutation.')
    const mutations = fields.map(({ name }) => name).filter(isMutation)
    expect(nullable.filter(isMutation), 'a refused mutation must not hide what others of its operation did').toEqual(
      mutations,
    )
    for (const name of mutations) mayBeAbsent.add(name)
    expect(nullable.filter((name) => !mayBeAbsent.has(name) && !ofAnyEvent.test(name))).toEqual([])
    expect([...mayBeAbsent].filter((name) => !nullable.includes(name))).toEqual([])
  })

  it('describes every type, field, argument and value whose name does not say all', () => {
    // Relay names the parts of pages, and an input is named after its mutation.
    const isPaged = ({ name }: { name: string }) => /Connection$|(?<!^Changed|^Definition)Edge$/.test(name)
    const ofPages =
      /^\w+(Connection|Edge)\.(cursor|edges|node|nodes|pageInfo)$|\((after|before)\)$|^(Mutation|Query)\.\w+\(input\)$/
    const named = types.flatMap((type) => {
      const values = isEnumType(type) ? type.getValues() : []
      const inputs = isInputObjectType(type) ? Object.values(type.getFields()) : []
      const outputs = isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : []
      const args = outputs.flatMap((field) =>
        field.args.map((arg) => ({ name: `${field.name}(${arg.name})`, description: arg.description })),
      )
      const parts = [...values, ...inputs, ...outputs, ...args]
      const described = parts.map(({ name, description }) => ({ name: `${type.name}.${name}`, description }))
      return isPaged(type) || isInputObjectType(type) ? described : [type, ...described]
    })
    expect(named.length).toBeGreaterThan(1_000)
    const silent = named.filter(({ name, description }) => !description && !ofPages.test(name))
    expect(silent.map(({ name }) => name)).toEqual([])
    const texts = [...printedSchema().matchAll(/"""\s*([^"]*?)\s*"""/g)].map(([, text = '']) => text)
    expect(texts.filter((text) => /^The (input|entry)( of `\w+`)?\.$/.test(text))).toEqual([])
  })

  it('has no list of nullable items but `nodes`, in which a missing object keeps its place', () => {
    const holed = (type: GraphQLOutputType): boolean => {
      if (isNonNullType(type)) return holed(type.ofType)
      return isListType(type) && (!isNonNullType(type.ofType) || holed(type.ofType.ofType))
    }
    expect(fields.filter(({ field }) => holed(field.type)).map(({ name }) => name)).toEqual(['Query.nodes'])
  })

  it('gives every mutation one input, named after the field of today, or one that calls of a group share', () => {
    const shared: Readonly<Record<string, readonly string[]>> = {
      CreateEnvironmentKeyInput: ['createSdkKey', 'createServerKey'],
      GrantJobMoveInput: ['approveGrantJob', 'cancelGrantJob', 'pauseGrantJob', 'resumeGrantJob'],
      IdTokenLinkInput: ['linkApple', 'linkGoogle'],
      IdTokenLoginInput: ['loginApple', 'loginGoogle'],
      RevokeEnvironmentKeyInput: ['revokeSdkKey', 'revokeServerKey'],
    }
    const ofGroup = new Map(Object.entries(shared).flatMap(([type, names]) => names.map((name) => [name, type])))
    const mutations = Object.values(schema.getMutationType()?.getFields() ?? {})
    expect(mutations.length).toBeGreaterThan(0)
    for (const field of mutations) {
      const { args } = field
      const name = nameNow(field)
      const type = ofGroup.get(name) ?? `${name[0]?.toUpperCase()}${name.slice(1)}Input`
      expect([name, ...args.map((arg) => `${arg.name}: ${arg.type}`)]).toEqual([name, `input: ${type}!`])
    }
  })

  it('has the type ID for ids that the service makes, and String for those that people choose', () => {
    const ofType = fields.flatMap(({ field }) => [field, ...field.args])
    const named = [...ofType, ...types.filter(isInputObjectType).flatMap((type) => membersOf(type))]
    const found = new Map<string, Set<string>>()
    for (const { name, type } of named) {
      const [, one = ''] = /^(id|\w+Id)s?$/.exec(name) ?? []
      if (one !== '') found.set(one, (found.get(one) ?? new Set()).add(getNamedType(type).name))
    }
    expect([...found].filter(([, kinds]) => kinds.size > 1)).toEqual([])
    const withType = (kind: string) => [...found].flatMap(([name, kinds]) => (kinds.has(kind) ? [name] : [])).sort()
    // Studios choose them, an issuer, or the client of a guest.
    expect(withType('String')).toEqual([
      ...['clientId', 'deviceId', 'itemId', 'nextScenarioId', 'nodeId', 'ofNodeId', 'ofScenarioId', 'scenarioId'],
      'toScenarioId',
    ])
    expect(withType('ID')).toEqual(
      expect.arrayContaining(['id', 'playerId', 'runId', 'messageId', 'noteId', 'boostId', 'draftId', 'sessionId']),
    )
    expect(found.size).toBe(withType('String').length + withType('ID').length)
  })

  it('requires the environment of a call that acts in one, and leaves it to the caller for one of two reasons', async () => {
    const optional = {
      // A list of a project, which spans its environments unless it is given one.
      spans: ['auditLog', 'authProviders', 'sdkKeys', 'serverKeys'],
      // Players call it, too, who have an environment of their own.
      own: [
        ...['events', 'onComplete', 'onEvent', 'onInboxMessage', 'onLevelUp', 'onMaxLevel', 'onPlayerCreated'],
        ...['onPremiumPurchase', 'playerCreated', 'streamCursor'],
      ],
    }
    const roots = (of: GraphQLSchema) =>
      [of.getQueryType(), of.getMutationType(), of.getSubscriptionType()].flatMap((root) =>
        root ? Object.values(root.getFields()) : [],
      )
    const found = roots(schema).flatMap(({ name, args }) => {
      const members = args.flatMap((one) => membersOf(one.type))
      return [...args, ...members].filter((one) => one.name === 'environment').map(({ type }) => ({ name, type }))
    })
    const required = found.filter(({ type }) => isNonNullType(type))
    expect(required.length).toBeGreaterThan(60)
    const left = new Set(found.filter((one) => !required.includes(one)).map(({ name }) => name))
    expect([...left].sort()).toEqual([...new Set([...optional.spans, ...optional.own])].sort())
    const text = await readFile(new URL('../schema.player.graphql', import.meta.url), 'utf8')
    const ofPlayers = new Set(roots(buildSchema(text)).map(({ name }) => name))
    expect(optional.own.filter((name) => !ofPlayers.has(name))).toEqual([])
    expect(optional.spans.filter((name) => ofPlayers.has(name))).toEqual([])
  })

  it('is built without a database', async () => {
    await buildService()
    let connections = 0
    const database = createServer((socket) => {
      connections += 1
      socket.destroy()
    }).listen(0, '127.0.0.1')
    await once(database, 'listening')
    const { port } = database.address() as AddressInfo
    const child = spawn(process.execPath, ['--input-type=module', '--eval', "await import('./dist/schema.js')"], {
      cwd: new URL('..', import.meta.url),
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: `postgres://nobody@127.0.0.1:${port}/none`,
        PGHOST: '127.0.0.1',
        PGPORT: String(port),
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    // The process ends by itself: nothing is left open.
    expect(await once(child, 'close')).toEqual([0, null])
    expect(connections).toBe(0)
    database.close()
  })
})

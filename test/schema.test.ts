import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import {
  type GraphQLOutputType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { rightOf } from '../src/declare/graphql/field-marks.ts'
import { printedSchema, schema } from '../src/schema.ts'
import { buildService } from './harness/service.ts'

const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'))
const fields = types
  .filter((type) => isObjectType(type) || isInterfaceType(type))
  .flatMap((type) => Object.values(type.getFields()).map((field) => ({ name: `${type.name}.${field.name}`, field })))

describe('the schema (decisions 9)', () => {
  it('is the content of schema.graphql', async () => {
    const committed = await readFile(new URL('../schema.graphql', import.meta.url), 'utf8')
    expect(
      committed === printedSchema(),
      'schema.graphql is stale: run `npm run schema` and commit what it writes',
    ).toBe(true)
  })

  it('allows null only where a value can be absent (decisions 2)', () => {
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
        'battlePass battlePassInsight grantJob node player run scenario scenarioDiff scenarioDraft scenarioView season singleSignOn',
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

  it('describes every type, field, argument and value', () => {
    const named = types.flatMap((type) => {
      const values = isEnumType(type) ? type.getValues() : []
      const inputs = isInputObjectType(type) ? Object.values(type.getFields()) : []
      const outputs = isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : []
      const args = outputs.flatMap((field) =>
        field.args.map((arg) => ({ name: `${field.name}(${arg.name})`, description: arg.description })),
      )
      const parts = [...values, ...inputs, ...outputs, ...args]
      return [type, ...parts.map(({ name, description }) => ({ name: `${type.name}.${name}`, description }))]
    })
    expect(named.length).toBeGreaterThan(1_000)
    expect(named.filter(({ description }) => !description).map(({ name }) => name)).toEqual([])
  })

  it('has no list of nullable items but `nodes`, in which a missing object keeps its place', () => {
    const holed = (type: GraphQLOutputType): boolean => {
      if (isNonNullType(type)) return holed(type.ofType)
      return isListType(type) && (!isNonNullType(type.ofType) || holed(type.ofType.ofType))
    }
    expect(fields.filter(({ field }) => holed(field.type)).map(({ name }) => name)).toEqual(['Query.nodes'])
  })

  it('gives every mutation one input that is named after the field', () => {
    const mutations = Object.values(schema.getMutationType()?.getFields() ?? {})
    expect(mutations.length).toBeGreaterThan(0)
    for (const { name, args } of mutations) {
      const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input!`
      expect(args.map((arg) => `${arg.name}: ${arg.type}`)).toEqual([`input: ${type}`])
    }
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

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
    const mayBeAbsent = new Set([
      'AddXpPayload.plan',
      'CompletionInsight.rate',
      'LevelInsight.conversion',
      'ClippedXp.source',
      'XpOutliers.median',
      'XpSource.source',
      'XpEntry.limitedBy',
      'XpEntry.reference',
      'ClaimAllPayload.error',
      'ClaimTierPayload.error',
      'CrossHandlePayload.plan',
      'PurchasePremiumPayload.error',
      'PurchasePremiumPayload.plan',
      'RunProgress.plan',
      'StartRunPayload.plan',
      'StartRunPayload.next',
      'NextRun.plan',
      'Reward.currency',
      'Reward.itemId',
      'PageInfo.startCursor',
      'PageInfo.endCursor',
      'Player.nickname',
      'Player.avatarUrl',
      'Player.region',
      'Player.language',
      'PlayerCreatedEvent.nickname',
      'PlayerCreatedEvent.provider',
      'LoginLogEntry.playerId',
      'LoginLogEntry.subject',
      'WebhookAttempt.error',
      'AuditLogEntry.after',
      'AuditLogEntry.before',
      'AuditLogEntry.afterText',
      'AuditLogEntry.beforeText',
      // Lookups: a missing object never empties the rest of an answer (decisions 11.11).
      'Query.battlePass',
      'Query.battlePassInsight',
      'Query.node',
      'Query.player',
      'Query.run',
      'Query.scenario',
      'Query.scenarioDiff',
      'AuditLogEntry.reason',
      'BattlePassDiff.claimUntil',
      'BattlePassDiff.endsAt',
      'BattlePassDiff.price',
      'BattlePassDiff.announcedAt',
      'BattlePassDiff.endingAt',
      'Query.season',
      'Event.playerId',
      'SeasonEvent.playerId',
      'SeasonSettlement.startedAt',
      'SeasonSettlement.finishedAt',
      ...['boostId', 'endsAt', 'nodeId', 'publicationId', 'scenarioId', 'startsAt'].map(
        (name) => `CalendarConflict.${name}`,
      ),
      'CalendarSeason.nextScenarioId',
      'SchedulePublicationPayload.auditEntry',
      'CancelPublicationPayload.auditEntry',
      ...['expectedVersion', 'version', 'failure', 'operator', 'endedAt', 'diff'].map(
        (name) => `ScheduledPublication.${name}`,
      ),
      'Season.announcedAt',
      'Season.claimUntil',
      'Season.endingAt',
      'Season.endsAt',
      'Season.nextPhase',
      'Season.nextPhaseAt',
      'Season.secondsToNextPhase',
      'Season.startsAt',
      'SeasonProgress.claimUntil',
      'SeasonProgress.endsAt',
      'SeasonProgress.phase',
      'SeasonProgress.startsAt',
      'SeasonProgress.topLevel',
      'BattlePassDiff.startsAt',
      'BattlePassPreview.priceAfter',
      'BattlePassPreview.priceBefore',
      'ChangedDate.after',
      'ChangedDate.before',
      'ChangedNode.pass',
      'ChangedPrice.after',
      'ChangedPrice.before',
      'PreviewScenarioResult.currentVersion',
      'ValueChange.after',
      'ValueChange.before',
      'ValueChange.afterText',
      'ValueChange.beforeText',
      'AuditLogEntry.actorLabel',
      'AuditLogEntry.environment',
      'AuditLogEntry.operator',
      'ChangePayload.auditEntry',
      'Player.lastLoginAt',
      'PlayerConnection.nicknameSearch',
      'CloneScenarioPayload.auditEntry',
      'CreateEnvironmentPayload.auditEntry',
      'CreateOperatorTokenPayload.auditEntry',
      'CrossHandleForPlayerPayload.auditEntry',
      'GrantTierPayload.auditEntry',
      'GrantXpPayload.auditEntry',
      'CreatePlatformKeyPayload.auditEntry',
      'CreateSdkKeyPayload.auditEntry',
      'CreateServerKeyPayload.auditEntry',
      'PlatformKey.label',
      'PlayerPayload.auditEntry',
      'RenameProjectPayload.auditEntry',
      'RevokeSdkKeyPayload.auditEntry',
      'RevokeServerKeyPayload.auditEntry',
      'RevokePlatformKeyPayload.auditEntry',
      'RotateProviderSecretPayload.auditEntry',
      'SdkKey.label',
      'ServerKey.label',
      'SetAuthProvidersPayload.auditEntry',
      'WalletPayload.auditEntry',
      'PublishScenarioPayload.auditEntry',
      'Run.cause',
      'Run.endedAt',
      'RunProgress.cause',
      'PlatformKey.createdBy',
      'PlatformKey.revokedBy',
      'SdkKey.createdBy',
      'ServerKey.createdBy',
      'SdkKey.revokedAt',
      'ServerKey.revokedAt',
      'SdkKey.revokedBy',
      'ServerKey.revokedBy',
      'AuthProviders.apple',
      'AuthProviders.google',
      'AuthProviders.device',
      'OidcProvider.jwksUrl',
      'OidcProvider.maxAgeSeconds',
      'OidcProvider.nicknameClaim',
      'LoginFigures.attemptsPerLogin',
      'LoginFigures.latency',
      'RotateProviderSecretPayload.secret',
      'TestAuthProviderPayload.subject',
      'TestAuthProviderPayload.nickname',
      'TestAuthProviderPayload.avatarUrl',
      'TestAuthProviderPayload.data',
      'TestAuthProviderPayload.dataText',
      'TestAuthProviderPayload.claims',
      'TestAuthProviderPayload.claimsText',
      'PlatformKey.revokedAt',
      'WebhookAttempt.cause',
      'WebhookAttempt.excerpt',
      'OddBodyCheck.message',
      'TestAuthProviderPayload.oddBody',
      'WebhookAttempt.hint',
      'WebhookAttempt.status',
      'PlayerPayload.error',
      'PlayerPayload.message',
      'ChangePayload.error',
      'ChangePayload.message',
      'WalletPayload.error',
      'WalletPayload.message',
      'GrantXpPayload.error',
      'GrantXpPayload.message',
      'GrantTierPayload.error',
      'GrantTierPayload.message',
      'CrossHandleForPlayerPayload.error',
      'CrossHandleForPlayerPayload.message',
      'CrossHandleForPlayerPayload.result',
      'WalletPayload.balance',
      'WalletPayload.entry',
      'GrantXpPayload.result',
      'GrantXpPayload.entry',
      'GrantTierPayload.result',
      'Currency.creditLimit',
      'AddCurrencyPayload.currency',
      'AddCurrencyPayload.auditEntry',
      'RemoveCurrencyPayload.currency',
      'RemoveCurrencyPayload.auditEntry',
      'SetCreditLimitPayload.currency',
      'SetCreditLimitPayload.auditEntry',
      'Boost.endedAt',
      'BoostPayload.auditEntry',
      'AccountPolicy.maxSessions',
      'SetAccountPolicyPayload.auditEntry',
      'Player.deleteAt',
      'PlayerSession.device',
      'CustomProvider.attempts',
      'CustomProvider.breakerAfter',
      'CustomProvider.caCertificates',
      'CustomProvider.certificatesExpireAt',
      'CustomProvider.clientCertificate',
      'CustomProvider.ed25519',
      'CustomProvider.publicKey',
      'Ban.publicReason',
      'Ban.until',
      'Player.ban',
      'SupportListResult.auditEntry',
      'SupportListResult.error',
      'CustomProvider.timeoutMs',
      'DenialReason.text',
      'TestAuthProviderPayload.reason',
    ])
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

  it('has no list of nullable items', () => {
    const holed = (type: GraphQLOutputType): boolean => {
      if (isNonNullType(type)) return holed(type.ofType)
      return isListType(type) && (!isNonNullType(type.ofType) || holed(type.ofType.ofType))
    }
    expect(fields.filter(({ field }) => holed(field.type)).map(({ name }) => name)).toEqual([])
  })

  it('has no optional input field except the listed ones', () => {
    const optional = types
      .filter(isInputObjectType)
      .flatMap((type) =>
        Object.values(type.getFields()).map((field) => ({ name: `${type.name}.${field.name}`, field })),
      )
      .filter(({ field }) => !isNonNullType(field.type))
      .map(({ name }) => name)
    expect(optional.sort()).toEqual([
      'AddXpInput.idempotencyKey',
      'AddXpInput.source',
      'BanPlayerInput.idempotencyKey',
      'BanPlayerInput.kind',
      'BanPlayerInput.publicReason',
      'BanPlayerInput.until',
      'BanPlayersInput.idempotencyKey',
      'BanPlayersInput.kind',
      'BanPlayersInput.publicReason',
      'BanPlayersInput.until',
      'CancelRunInput.idempotencyKey',
      'ClaimAllInput.idempotencyKey',
      'ClaimTierInput.idempotencyKey',
      'ClaimTierInput.level',
      'CloneScenarioInput.expectedVersion',
      'CloneScenarioInput.version',
      'CreateBoostInput.audience',
      'CreateBoostInput.idempotencyKey',
      'CreateBoostInput.scenarios',
      'CreateBoostInput.sources',
      'CreateOperatorTokenInput.expiresInSeconds',
      'CreateOperatorTokenInput.role',
      'CreatePlatformKeyInput.label',
      'CreateSdkKeyInput.label',
      'CreateServerKeyInput.label',
      'CreditWalletInput.allowNew',
      'CrossHandleInput.idempotencyKey',
      'DeleteOwnPlayerInput.playerId',
      'DeletePlayerInput.idempotencyKey',
      'DeletePlayerStorageInput.idempotencyKey',
      'EndSessionsInput.idempotencyKey',
      'GrantPremiumInput.idempotencyKey',
      'GrantXpInput.source',
      'LinkAppleInput.nonce',
      'LinkCustomInput.provider',
      'LinkGoogleInput.nonce',
      'LinkOidcInput.nonce',
      'LoginAppleInput.deviceName',
      'LoginAppleInput.language',
      'LoginAppleInput.nickname',
      'LoginAppleInput.nonce',
      'LoginAppleInput.region',
      'LoginCustomInput.deviceName',
      'LoginCustomInput.language',
      'LoginCustomInput.nickname',
      'LoginCustomInput.provider',
      'LoginCustomInput.region',
      'LoginDeviceInput.deviceName',
      'LoginDeviceInput.language',
      'LoginDeviceInput.nickname',
      'LoginDeviceInput.region',
      'LoginGoogleInput.deviceName',
      'LoginGoogleInput.language',
      'LoginGoogleInput.nickname',
      'LoginGoogleInput.nonce',
      'LoginGoogleInput.region',
      'LoginOidcInput.deviceName',
      'LoginOidcInput.language',
      'LoginOidcInput.nickname',
      'LoginOidcInput.nonce',
      'LoginOidcInput.region',
      'PublishScenarioInput.expectedVersion',
      'PurchasePremiumInput.idempotencyKey',
      'ResetPassInput.idempotencyKey',
      'ResetRewardInput.idempotencyKey',
      'ResetTierInput.idempotencyKey',
      'RevokePremiumInput.idempotencyKey',
      'RotateProviderSecretInput.overlapSeconds',
      'RotateProviderSecretInput.secret',
      'SchedulePublicationInput.expectedVersion',
      'SetAccountPolicyInput.deletionDays',
      'SetAccountPolicyInput.maxSessions',
      'SetAccountPolicyInput.whenFull',
      'SetAuthProvidersInput.expectedVersion',
      'SetCreditLimitInput.limit',
      'SetPlayerStorageInput.idempotencyKey',
      'StartRunInput.idempotencyKey',
      'SwitchPlayerInput.deviceName',
      'TestAuthProviderInput.customData',
      'TestAuthProviderInput.idToken',
      'TestAuthProviderInput.nonce',
      'TestAuthProviderInput.provider',
      'UnbanPlayerInput.idempotencyKey',
      'UnbanPlayersInput.idempotencyKey',
      'UnlinkIdentityInput.allowLast',
      'UnlinkIdentityInput.idempotencyKey',
      'UpdateBoostInput.audience',
      'UpdateBoostInput.endsAt',
      'UpdateBoostInput.name',
      'UpdateBoostInput.percent',
      'UpdateBoostInput.scenarios',
      'UpdateBoostInput.sources',
      'UpdateBoostInput.startsAt',
      'UpdateProfileInput.language',
      'UpdateProfileInput.nickname',
      'UpdateProfileInput.region',
      'ValidateScenarioInput.scenarioId',
    ])
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

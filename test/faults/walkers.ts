import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import { expect } from 'vitest'
import { print } from '../../src/base/json.ts'
import { createPlatformKey, createSdkKey, createServerKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { ACCESS_TOKEN_SECONDS } from '../../src/callers/tokens.ts'
import { printCursor } from '../../src/declare/cursor.ts'
import { adjustWallet } from '../../src/dev/adjust-wallet.ts'
import { createBoost } from '../../src/game/boosts/manage-boosts.ts'
import { publishScenario } from '../../src/operations/publishing/publish.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { gold, passNode, scenario, tier } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer } from '../harness/game.ts'
import { type Operator as Studio, startOperator, status } from '../harness/operator.ts'
import { until } from '../harness/until.ts'
import type { Values } from '../serve/graphql/documents.ts'
import { type LoggedIn, logIn, newOperator, obey, payload, support } from '../support/desk.ts'

// A victim whose texts are all canaries, and the callers that must not see them.

/** Texts that occur nowhere else. Operators of the project may see those of the victim. No caller may see secrets. */
export const CANARIES = {
  nickname: 'canary-nickname',
  avatarUrl: 'https://canary-avatar.example',
  subject: 'canary-subject',
  storage: 'canary-storage',
  message: 'canary-message',
  note: 'canary-note',
  region: 'canary-region',
  language: 'canary-language',
  xpSource: 'canary-source',
  currency: 'canary-currency',
  reason: 'canary-reason',
  keyLabel: 'canary-label',
  providerUrl: 'canary-url',
  definition: 'canary-definition',
  project: 'canary-project',
} as const
/** What an analyst never sees. */
export const PERSONAL = (({ nickname, avatarUrl, subject, storage, message, note }) => ({
  ...{ nickname, avatarUrl, subject, storage, message, note },
}))(CANARIES)
export const SECRETS = { providerSecret: 'canary-secret', blockSecret: 'canary-block' } as const

/** A caller: the headers that it sends, and what it may see. */
export interface Walker {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  /** The only codes that its calls may get; undefined for a caller that has some rights. */
  readonly refusals?: readonly string[]
  /** The column in docs/access.md that allows its calls, for operators of the victim's project. */
  readonly role?: 'analyst' | 'viewer' | 'operator'
}

export interface World {
  readonly game: Game
  readonly studio: Studio
  readonly victim: LoggedIn
  readonly walkers: readonly Walker[]
  /** An admin of the victim's project, who may see all canaries. */
  readonly admin: Walker
  /** Arguments and inputs by their names, with the values of the victim. */
  readonly values: Values
  /** The values of arguments named `id`, by the field. */
  readonly ids: Readonly<Record<string, string>>
  /** Another player of the environment, who keeps playing. */
  readonly other: TestPlayer
  close(): Promise<void>
}

const SCENARIO = 'walked-season'
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

export async function startWorld(): Promise<World> {
  // Each field is requested with all its subfields.
  const game = await startGame({ GRAPHQL_MAX_COST: '1000000000' })
  // The owner changes its profile, and nobody else may.
  await game.setAccountPolicy({ clientProfile: 'ALLOW' })
  const { pool, tokens, service } = game.app
  const studio = await startOperator(obey)
  const admin = await newOperator(pool, game.projectId, 'admin')
  await pool.query('UPDATE projects SET name = $1 WHERE id = $2', [CANARIES.project, game.projectId])
  const definition = {
    ...(scenario(
      [
        passNode('pass', {
          tiers: [tier(1, 'free', [gold(5)])],
        }),
      ],
      [{ from: 'start', handle: 'onStart', to: 'pass' }],
    ) as object),
    // Players see the name of a scenario, and no member of the designer's own.
    notes: CANARIES.definition,
  }
  expect((await game.publish(SCENARIO, definition)).status).toBe(200)
  const url = `${studio.url}?${CANARIES.providerUrl}`
  const providers = await game.request('PUT', `/platform/v1/projects/${game.projectId}/auth-providers`, {
    headers: bearer(admin.key),
    body: print({
      environment: 'production',
      authProviders: {
        custom: { default: { enabled: true, url, secret: SECRETS.providerSecret } },
        google: { clientId: 'google', clientSecret: SECRETS.blockSecret },
      },
    }),
  })
  expect(providers.status, providers.text).toBe(200)

  const victim = await logIn(
    game,
    CANARIES.subject,
    { nickname: CANARIES.nickname, avatarUrl: `${CANARIES.avatarUrl}/a.png`, data: { walked: CANARIES.storage } },
    { region: CANARIES.region, language: CANARIES.language },
  )
  const runId = await victim.start(SCENARIO)
  const place = { scenarioId: SCENARIO, nodeId: 'pass' }
  const key = { 'idempotency-key': 'key-of-the-victim' }
  const played = [
    await victim.post('/sdk/v1/battlepass/xp', { ...place, runId, amount: 60, source: CANARIES.xpSource }, key),
    await victim.post('/sdk/v1/battlepass/claim', { ...place, runId, level: 1, track: 'free' }),
  ]
  expect(played.map((answer) => answer.status)).toEqual([200, 200])
  await service.run(adjustWallet(victim, { currency: 'gems', amount: 5_000n, reference: 'walk' }))
  const credit = { playerId: victim.playerId, currency: CANARIES.currency, amount: 5n, idempotencyKey: randomUUID() }
  expect(await support(game, admin.key, 'creditWallet', { ...credit, reason: CANARIES.reason })).toHaveProperty('ok')

  const text = [{ language: 'en', title: CANARIES.message, body: '' }]
  const message = { playerId: victim.playerId, text, reason: CANARIES.reason, idempotencyKey: randomUUID() }
  const { messageId } = payload(await support(game, admin.key, 'sendMessage', message))

  const note = { playerId: victim.playerId, text: CANARIES.note, reason: CANARIES.reason, idempotencyKey: randomUUID() }
  expect(await support(game, admin.key, 'addPlayerNote', note)).toHaveProperty('ok')
  // The id of a note is that of its entry in the audit log.
  const { rows: notes } = await pool.query('SELECT id FROM player_notes')
  const noteId = notes[0].id as string

  const labelled = await createPlatformKey(pool, game.projectId, 'viewer', { label: CANARIES.keyLabel })
  const sdk = await createSdkKey(pool, game.environmentId, { label: CANARIES.keyLabel })
  const server = await createServerKey(pool, game.environmentId, { label: CANARIES.keyLabel })
  const planned = await game.graphql(
    admin.key,
    `mutation ($input: SchedulePublicationInput!) { schedulePublication(input: $input) { publication { publicationId } } }`,
    {
      input: {
        ...{
          environment: 'production',
          scenarioId: 'planned',
          publishAt: '2099-01-01T00:00:00Z',
          reason: CANARIES.reason,
        },
        definition: print(scenario([passNode('pass')], [])),
      },
    },
  )
  const { jobId, listId, segmentId, alertWebhookId, draftId, commentId, sharedViewId } = await giveToVictim()
  const { walkers, other } = await makeWalkers(game, admin.key)
  // From here on the studio refuses every login.
  studio.answer(status(401))

  const { outcome } = await game.app.service.transact((transaction) =>
    createBoost(transaction, {
      ...{ environmentId: game.environmentId, name: 'walked', percent: 1, audience: 'everybody', reason: 'walked' },
      ...{ startsAt: new Date('2098-01-01'), endsAt: new Date('2099-01-01'), scenarios: [], sources: [] },
      idempotencyKey: null,
    }),
  )
  const values: Values = {
    ids: `Player:${victim.playerId}`,
    ...place,
    toScenarioId: 'cloned',
    ofScenarioId: place.scenarioId,
    ofNodeId: place.nodeId,
    environment: 'production',
    toEnvironment: 'staging',
    playerId: victim.playerId,
    runId,
    publicationId: planned.data.schedulePublication.publication.publicationId,
    definition: print(scenario([passNode('pass')], [])),
    currency: 'gems',
    provider: 'custom',
    subject: CANARIES.subject,
    search: CANARIES.nickname,
    region: CANARIES.region,
    language: CANARIES.language,
    target: victim.playerId,
    actor: admin.actor,
    operator: 'somebody',
    action: 'player.credit_wallet',
    prefix: 'tw',
    idempotencyKey: 'key-of-the-victim',
    keys: 'walked',
    messageId,
    messageIds: messageId,
    noteId,
    undoes: noteId,
    text: 'walked',
    jobId,
    listId,
    segmentId,
    segment: 'walked',
    draftId,
    commentId,
    sharedViewId,
    page: 'PLAYERS',
    query: 'region=walked',
    path: 'walked',
    alertWebhookId,
    url: 'http://127.0.0.1:9/walked',
    link: 'http://127.0.0.1:9/walked',
    issuer: 'http://127.0.0.1:9/walked',
    clientId: 'walked',
    clientSecret: 'a-secret-of-the-walker',
    consoleUrl: 'http://127.0.0.1:9/console',
    scopes: 'openid',
    group: 'walked',
    groupsClaim: 'groups',
    itemId: 'walked',
    title: 'walked',
    body: 'walked',
    image: 'walked',
    cursor: printCursor('inbox', messageId),
    boostId: outcome.boost,
    scenarios: SCENARIO,
    sources: 'walked',
    publicReason: 'walked',
    playerIds: victim.playerId,
    values: '{"walked":"overwritten"}',
    handle: 'onLevelUp',
    handles: 'onLevelUp',
    name: 'default',
    nickname: 'walker',
    label: 'walked',
    reason: 'walked',
    source: 'walked',
    secret: 'a-secret-of-the-walker',
    customData: '{"player":"walker"}',
    authProviders: '{"custom":{}}',
    refreshToken: 'x',
    ticket: 'x',
    session: decodeJwt(victim.token).jti?.split('.')[0] ?? '',
    deviceName: 'walker',
    idToken: 'x',
    nonce: 'x',
    deviceId: 'the device of the walker, of 40 characters',
  }
  const ids = {
    node: `Player:${victim.playerId}`,
    player: victim.playerId,
    revokeSdkKey: sdk.id,
    revokeServerKey: server.id,
    revokePlatformKey: labelled.id,
  }
  async function close(): Promise<void> {
    await studio.close()
    await game.stop()
  }
  return {
    game,
    studio,
    victim,
    walkers,
    admin: { name: 'admin', headers: bearer(admin.key) },
    values,
    ids,
    other,
    close,
  }

  /** A shared draft with a comment. */
  async function shareDraft() {
    const document = `mutation ($draft: CreateScenarioDraftInput!) { createScenarioDraft(input: $draft) { draft { draftId } } }`
    const draft = { environment: 'production', scenarioId: SCENARIO, name: 'walked', definition: '{}', baseVersion: 1 }
    const { draftId } = (await game.graphql(admin.key, document, { draft })).data.createScenarioDraft.draft
    const comment = { environment: 'production', draftId, text: 'walked', idempotencyKey: randomUUID() }
    const { data } = await game.graphql(
      admin.key,
      `mutation ($comment: CommentOnScenarioDraftInput!) { commentOnScenarioDraft(input: $comment) {
        draft { comments { commentId } } } }`,
      { comment },
    )
    return { draft: { draftId, commentId: data.commentOnScenarioDraft.draft.comments[0].commentId } }
  }

  /** A shared view, whose filter names the victim. */
  async function shareView() {
    const document = `mutation ($view: ShareViewInput!) { shareView(input: $view) { sharedView { sharedViewId } } }`
    const view = { page: 'PLAYERS', name: 'walked', query: `search=${CANARIES.nickname}`, reason: CANARIES.reason }
    return (await game.graphql(admin.key, document, { view })).data.shareView.sharedView
  }

  /** A segment with the victim, a job that has given it something, and an alert webhook. */
  async function giveToVictim() {
    const change = async (name: string, type: string, input: object, selection: string) => {
      const document = `mutation ($input: ${type}!) { ${name}(input: $input) { ${selection} } }`
      const sent = { environment: 'production', reason: CANARIES.reason, ...input }
      return (await game.graphql(admin.key, document, { input: sent })).data[name]
    }
    const filter = { region: CANARIES.region }
    const { segment } = await change(
      'createSegment',
      'CreateSegmentInput',
      { name: 'walked', filter },
      'segment { id }',
    )
    const { alertWebhook } = await change(
      ...(['createAlertWebhook', 'CreateAlertWebhookInput'] as const),
      { name: 'walked', format: 'SLACK', url: 'http://127.0.0.1:9/' },
      'alertWebhook { id }',
    )
    // The service notes its looks at one that is enabled, and the walk compares all rows.
    await change(
      ...(['updateAlertWebhook', 'UpdateAlertWebhookInput'] as const),
      { alertWebhookId: alertWebhook.id, enabled: false },
      'alertWebhook { id }',
    )
    const { draft } = await shareDraft()
    const { sharedViewId } = await shareView()
    const { job } = await change(
      ...(['createGrantJob', 'CreateGrantJobInput'] as const),
      {
        ...{ to: { playerIds: [victim.playerId] }, give: { rewards: [{ itemId: 'walked', amount: '1' }] } },
        idempotencyKey: randomUUID(),
      },
      'job { jobId target { listId } }',
    )
    const state = `query ($jobId: ID!) { grantJob(environment: "production", jobId: $jobId) { state } }`
    await until('the job is done', async () => {
      const { data } = await game.graphql(admin.key, state, { jobId: job.jobId })
      return data.grantJob.state === 'DONE'
    })
    return {
      jobId: job.jobId,
      listId: job.target.listId,
      segmentId: segment.id,
      alertWebhookId: alertWebhook.id,
      sharedViewId,
      ...draft,
    }
  }

  async function makeWalkers({ projectId, environmentId, sdkKey, stagingId }: Game, adminKey: string) {
    const other = await game.player({ wallet: { gems: 5_000n } })
    const staging = await service.run(createPlayer(stagingId, null))
    const stagingToken = await tokens.issueAccessToken({ ...staging, projectId })
    const elsewhere = await createProject(pool, { name: 'Elsewhere', environments: ['production'] })
    await publishScenario(
      pool,
      { environmentId: elsewhere.environments.get('production') ?? '', scenarioId: SCENARIO },
      print(scenario([passNode('pass')], [])),
    )
    const stranger = await newOperator(pool, elsewhere.projectId, 'admin')
    const foreign = await createSdkKey(pool, elsewhere.environments.get('production') ?? '')

    const servers = {
      staging: await createServerKey(pool, stagingId),
      foreign: await createServerKey(pool, elsewhere.environments.get('production') ?? ''),
      revoked: await createServerKey(pool, environmentId),
    }
    await pool.query('UPDATE server_keys SET revoked_at = now() WHERE id = $1', [servers.revoked.id])

    const [analyst, viewer, operator] = [
      await newOperator(pool, projectId, 'analyst'),
      await newOperator(pool, projectId, 'viewer'),
      await newOperator(pool, projectId, 'operator'),
    ]
    const operatorToken = async (seconds: number, keyId = admin.caller.keyId) =>
      (await tokens.issueOperatorToken({ projectId, keyId, role: 'viewer', actor: 'walker', seconds })).token
    const revoked = await createPlatformKey(pool, projectId, 'admin')
    const ofRevoked = await operatorToken(3_600, revoked.id)
    await pool.query('UPDATE platform_keys SET revoked_at = now() WHERE id = $1', [revoked.id])
    const revokedSdk = await createSdkKey(pool, environmentId)
    await pool.query('UPDATE sdk_keys SET revoked_at = now() WHERE id = $1', [revokedSdk.id])

    const [banned, deleted] = [await game.player(), await game.player()]
    await support(game, adminKey, 'banPlayer', { playerId: banned.playerId, reason: 'walk' })
    await support(game, adminKey, 'deletePlayer', { playerId: deleted.playerId, reason: 'walk' })
    const expired = await tokens.issueAccessToken({
      ...other,
      projectId,
      issuedAt: Math.floor(Date.now() / 1000) - ACCESS_TOKEN_SECONDS - 60,
    })
    const gone = await logIn(game, 'logged-out')
    const loggedOut = await game.request('POST', '/sdk/v1/authorization/logout', {
      headers: { 'x-sdk-key': sdkKey },
      body: print({ refreshToken: gone.refreshToken }),
    })
    expect(loggedOut.status).toBe(204)
    await until('the logout counts', async () => (await gone.post('/sdk/v1/player/get', {})).status === 401)

    const dead = ['INVALID_TOKEN', 'INVALID_SDK_KEY']
    const walkers: Walker[] = [
      { name: 'a caller without credentials', headers: {}, refusals: dead },
      { name: 'a game client before a login', headers: { 'x-sdk-key': sdkKey } },
      { name: 'another player', headers: { ...bearer(other.token), 'x-sdk-key': sdkKey } },
      { name: 'a player of another environment', headers: bearer(stagingToken) },
      { name: 'an admin of another project', headers: bearer(stranger.key) },
      { name: 'a game client of another project', headers: { 'x-sdk-key': foreign.key } },
      { name: 'a game server of another environment', headers: bearer(servers.staging.key) },
      { name: 'a game server of another project', headers: bearer(servers.foreign.key) },
      { name: 'an analyst', headers: bearer(analyst.key), role: 'analyst' },
      { name: 'a viewer', headers: bearer(viewer.key), role: 'viewer' },
      { name: 'an operator', headers: bearer(operator.key), role: 'operator' },
      { name: 'a viewer by operator token', headers: bearer(await operatorToken(3_600)), role: 'viewer' },
      { name: 'an SDK key in the place of a token', headers: bearer(sdkKey), refusals: dead },
      { name: 'a platform key in the place of an SDK key', headers: { 'x-sdk-key': admin.key }, refusals: dead },
      { name: 'an expired access token', headers: bearer(expired), refusals: dead },
      { name: 'an expired operator token', headers: bearer(await operatorToken(-60)), refusals: dead },
      { name: 'an operator token of a revoked key', headers: bearer(ofRevoked), refusals: dead },
      { name: 'a revoked platform key', headers: bearer(revoked.key), refusals: dead },
      { name: 'a revoked SDK key', headers: { 'x-sdk-key': revokedSdk.key }, refusals: dead },
      { name: 'a revoked server key', headers: bearer(servers.revoked.key), refusals: dead },
      { name: 'a logged-out player', headers: bearer(gone.token), refusals: dead },
      { name: 'a banned player', headers: bearer(banned.token), refusals: ['PLAYER_BANNED', 'FORBIDDEN', ...dead] },
      { name: 'a deleted player', headers: bearer(deleted.token), refusals: ['PLAYER_DELETED', 'FORBIDDEN', ...dead] },
    ]
    return { walkers, other }
  }
}

/** Tables about callers, and derived ones. Every other table of the victim's project must stay as it is. */
const WRITTEN = new Set([
  'audit_log',
  'login_log',
  'insight_changes',
  'insight_totals',
  'ended_access',
  'streams',
  'call_minutes',
])

/** Every row of the victim, and every row of its project that is not another player's. */
export async function digest({ game, victim }: World): Promise<Record<string, unknown>> {
  const { pool } = game.app
  const { rows } = await pool.query<{ name: string; columns: string[] }>(
    `SELECT t.table_name AS name, json_agg(c.column_name) AS columns FROM information_schema.tables t
     JOIN information_schema.columns c USING (table_schema, table_name)
     WHERE t.table_schema = 'public' AND t.table_type = 'BASE TABLE'
       AND t.table_name NOT IN (SELECT relname FROM pg_class WHERE relispartition) GROUP BY 1 ORDER BY 1`,
  )
  const environments = '(SELECT id FROM environments WHERE project_id = $2)'
  const found: Record<string, unknown> = {}
  for (const { name, columns } of rows) {
    const where = whose(name, columns, environments)
    if (where === undefined || WRITTEN.has(name)) continue
    const { rows: own } = await pool.query(
      `SELECT t.* FROM "${name}" t WHERE ($1::uuid IS NOT NULL AND $2::uuid IS NOT NULL) AND ${where} ORDER BY t::text`,
      [victim.playerId, game.projectId],
    )
    found[name] = own
  }
  return found
}

function whose(name: string, columns: readonly string[], environments: string): string | undefined {
  if (name === 'players') return 'id = $1'
  if (name === 'projects') return 'id = $2'
  if (columns.includes('player_id')) return 'player_id = $1'
  if (columns.includes('project_id')) return 'project_id = $2'
  return columns.includes('environment_id') ? `environment_id IN ${environments}` : undefined
}

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_SHARED_VIEWS } from '../../src/base/limits.ts'
import { createProject } from '../../src/callers/projects.ts'
import { ROLES, type Role } from '../../src/callers/roles.ts'
import { type Credentials, Desk } from '../grants/jobs.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { auditRows, newOperator } from '../support/desk.ts'

let game: Game
let keys: Readonly<Record<Role, string>>
/** Two people of support with one key, told apart by their tokens. */
let ada: Desk
let bob: Desk
/** An admin of another project. */
let stranger: Desk

beforeAll(async () => {
  game = await startGame()
  const { pool } = game.app
  const made = ROLES.map(async (role) => [role, (await newOperator(pool, game.projectId, role)).key] as const)
  keys = Object.fromEntries(await Promise.all(made)) as Record<Role, string>
  const personOf = async (actor: string) => {
    const { data } = await game.graphql(
      keys.support,
      'mutation ($input: CreateOperatorTokenInput!) { createOperatorToken(input: $input) { token } }',
      { input: { actor, reason: 'test' } },
    )
    return new Desk(game, data.createOperatorToken.token)
  }
  ada = await personOf('Ada')
  bob = await personOf('Bob')
  const { projectId } = await createProject(pool, { name: 'Other', environments: ['production'] })
  stranger = new Desk(game, (await newOperator(pool, projectId, 'admin')).key)
})
afterAll(() => game.stop())

type Page = 'PLAYERS' | 'LIVE' | 'AUDIT_LOG'

const VIEW = 'sharedViewId page name query sharedBy createdAt updatedAt'
const PAYLOAD = `sharedView { ${VIEW} } auditEntry { action operator environment target before after reason }`

let views = 0
/** A view that nobody has shared. */
const newView = (page: Page = 'PLAYERS') => {
  views += 1
  return { page, name: `view ${views}`, query: `region=eu&level=${views}` }
}
/** Views are of no environment, and take a reason without demanding one. */
const bare = { environment: undefined, reason: undefined }
const share = (desk: Desk, view: object) => desk.must('shareView', { ...bare, ...view }, PAYLOAD)
const remove = (desk: Desk, sharedViewId: string) => desk.must('deleteSharedView', { ...bare, sharedViewId }, PAYLOAD)
const refused = (desk: Desk, name: string, input: object) => desk.refused(name, { ...bare, ...input }, PAYLOAD)

async function list(as: Credentials, page: Page, selection = VIEW) {
  const { data, errors } = await game.graphql(as, `{ sharedViews(page: ${page}) { ${selection} } }`)
  return errors?.[0]?.extensions.code ?? data.sharedViews
}
const namesOf = async (as: Credentials, page: Page): Promise<string[]> =>
  (await list(as, page, 'name')).map(({ name }: { name: string }) => name)

/** The entries of the audit log for a target: the action, and what was there before and after. */
const entriesOf = async (target: string) =>
  (await auditRows(game.app.pool, game.projectId, target)).map(({ action, before, after }) => [action, before, after])

describe('a shared view', () => {
  it('is seen by everyone in the project who reads its page, by name, until it is removed', async () => {
    const view = newView()
    const { sharedView, auditEntry } = await share(ada, view)
    expect(sharedView).toMatchObject({ ...view, sharedBy: 'Ada', updatedAt: sharedView.createdAt })
    const stored = { page: 'players', name: view.name, query: view.query }
    expect(auditEntry).toEqual({
      ...{ action: 'view.share', operator: 'Ada', environment: null, target: sharedView.sharedViewId },
      ...{ before: null, after: stored, reason: null },
    })
    await share(bob, { ...newView(), name: 'a first one' })
    const listed = await list(keys.viewer, 'PLAYERS')
    expect(listed).toContainEqual(sharedView)
    expect(listed[0].name).toBe('a first one')
    // Each page has its own.
    expect(await namesOf(keys.viewer, 'LIVE')).toEqual([])

    const removed = await remove(bob, sharedView.sharedViewId)
    expect(removed.sharedView).toBeNull()
    expect(removed.auditEntry).toMatchObject({ action: 'view.remove', operator: 'Bob', before: stored, after: null })
    expect(await namesOf(keys.viewer, 'PLAYERS')).toEqual(['a first one'])
    expect(await refused(bob, 'deleteSharedView', { sharedViewId: sharedView.sharedViewId })).toEqual(['NOT_FOUND'])
  })

  it('gets another query by its name, and keeps its id', async () => {
    const view = newView()
    const { sharedView } = await share(ada, view)
    const changed = await share(bob, { ...view, query: 'region=us', reason: 'US launch' })
    expect(changed.sharedView).toMatchObject({
      ...{ sharedViewId: sharedView.sharedViewId, query: 'region=us', sharedBy: 'Bob' },
      ...{ createdAt: sharedView.createdAt, updatedAt: expect.not.stringMatching(sharedView.updatedAt) },
    })
    expect(changed.auditEntry).toMatchObject({
      ...{ action: 'view.share', reason: 'US launch' },
      ...{ before: { page: 'players', name: view.name, query: view.query }, after: { query: 'region=us' } },
    })
  })

  it('that is shared again as it is stays as it is, without an entry of the audit log', async () => {
    const view = newView('LIVE')
    const { sharedView } = await share(ada, view)
    expect(await share(bob, view)).toEqual({ sharedView, auditEntry: null })
    expect(await entriesOf(sharedView.sharedViewId)).toHaveLength(1)
  })

  it('may be of the page without filters, and have a name of another page', async () => {
    const everything = { name: 'everything 🦊 “all”', query: '' }
    const [players, live] = [
      await share(ada, { page: 'PLAYERS', ...everything }),
      await share(ada, { page: 'LIVE', ...everything }),
    ]
    expect(players.sharedView.sharedViewId).not.toBe(live.sharedView.sharedViewId)
    expect(players.sharedView).toMatchObject(everything)
  })

  it('is named after the key where the call names no person', async () => {
    const { sharedView } = await share(new Desk(game, keys.operator), newView())
    expect(sharedView.sharedBy).toMatch(/^platform_key:[0-9a-f-]{36}$/)
  })

  it('is one row for twelve who share it at once, and each of them gets it', async () => {
    const view = newView()
    const made = await Promise.all(times(12, (n) => share(n % 2 ? ada : bob, view)))
    expect(new Set(made.map(({ sharedView }) => sharedView.sharedViewId)).size).toBe(1)
    expect(made.filter(({ auditEntry }) => auditEntry !== null)).toHaveLength(1)
    expect((await namesOf(ada.as, 'PLAYERS')).filter((name) => name === view.name)).toHaveLength(1)
  })

  it('has the query of the last of twelve who change it at once, and an entry for each change', async () => {
    const view = newView()
    const made = await Promise.all(times(12, (n) => share(ada, { ...view, query: `n=${n}` })))
    const [{ sharedView }] = made as [{ sharedView: { sharedViewId: string } }]
    const entries = await entriesOf(sharedView.sharedViewId)
    expect(entries).toHaveLength(12)
    // Each began with what the one before it had written.
    expect(entries.slice(1).map(([, before]) => before)).toEqual(entries.slice(0, -1).map(([, , after]) => after))
    const now = (await list(ada.as, 'PLAYERS')).find(({ name }: { name: string }) => name === view.name)
    expect(now.query).toBe(entries.at(-1)?.[2].query)
  })

  it('is removed once by twelve who remove it at once', async () => {
    const { sharedView } = await share(ada, newView())
    const { sharedViewId } = sharedView
    const input = { ...bare, sharedViewId }
    const done = await Promise.all(times(12, (n) => (n % 2 ? ada : bob).mutate('deleteSharedView', input, PAYLOAD)))
    const codes = done.map(({ errors }) => errors?.[0]?.extensions.code ?? 'ok')
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1)
    expect(new Set(codes)).toEqual(new Set(['ok', 'NOT_FOUND']))
    expect((await entriesOf(sharedViewId)).map(([action]) => action)).toEqual(['view.share', 'view.remove'])
  })

  it(`is one of at most ${MAX_SHARED_VIEWS} of its page, also when twelve are shared at once`, async () => {
    const before = await namesOf(ada.as, 'LIVE')
    for (const _ of times(MAX_SHARED_VIEWS - 3 - before.length, () => 0)) await share(ada, newView('LIVE'))
    const input = times(12, () => ({ ...bare, ...newView('LIVE') }))
    const done = await Promise.all(input.map((view) => ada.mutate('shareView', view, PAYLOAD)))
    const faults = done.map(({ errors }) => errors?.[0]?.extensions.details)
    expect(faults.filter((one) => one === undefined)).toHaveLength(3)
    expect(faults.filter((one) => one !== undefined)).toEqual(
      times(9, () => [{ path: 'page', message: `has ${MAX_SHARED_VIEWS} shared views, the most that it can have` }]),
    )
    const full = await list(ada.as, 'LIVE')
    expect(full).toHaveLength(MAX_SHARED_VIEWS)
    // Those that are there can change, and other pages have room.
    await share(ada, { page: 'LIVE', name: full[0].name, query: 'kind=LEVEL_UP' })
    await share(ada, newView('PLAYERS'))
    await remove(ada, full[1].sharedViewId)
    await share(ada, newView('LIVE'))
  })

  it('does not exist for another project, which has its own of the same name', async () => {
    const view = newView()
    const { sharedView } = await share(ada, view)
    expect(await refused(stranger, 'deleteSharedView', { sharedViewId: sharedView.sharedViewId })).toEqual([
      'NOT_FOUND',
    ])
    const node = 'query ($id: ID!) { node(id: $id) { id } }'
    const id = `SharedView:${sharedView.sharedViewId}`
    expect((await game.graphql(stranger.as, node, { id })).data).toEqual({ node: null })
    const own = await share(stranger, view)
    expect(own.sharedView.sharedViewId).not.toBe(sharedView.sharedViewId)
    expect(await namesOf(stranger.as, 'PLAYERS')).toEqual([view.name])
    // Either form of the id is accepted.
    expect((await remove(ada, id)).auditEntry.target).toBe(sharedView.sharedViewId)
    expect(await namesOf(stranger.as, 'PLAYERS')).toEqual([view.name])
  })

  it('is refused with every fault at once', async () => {
    const view = { page: 'PLAYERS', name: ' whales', query: '?premium=true', reason: '' }
    expect(await refused(ada, 'shareView', view)).toEqual([
      'name: must not begin or end with a space',
      'query: must be the query of an address: visible ASCII characters without ? and #',
      'reason: must be 1 to 500 characters',
    ])
    expect(await refused(ada, 'deleteSharedView', { sharedViewId: 'x', reason: '' })).toEqual([
      'sharedViewId: must be an id',
      'reason: must be 1 to 500 characters',
    ])
  })

  it.each([
    ['name', '', 'must be 1 to 40 characters'],
    ['name', 'n'.repeat(41), 'must be 1 to 40 characters'],
    ['name', 'two\nlines', 'must not contain control characters'],
    ['name', 'back\u202ewards', 'must not contain control characters'],
    ...['a=1#top', 'a=1?b=2', 'a=1\nb=2', 'a=\u007f', 'a=münchen', 'a=b c'].map((query) => [
      ...(['query', query] as const),
      'must be the query of an address: visible ASCII characters without ? and #',
    ]),
  ])('is refused with the %s %j', async (field, text, message) => {
    const view = { ...newView(), [String(field)]: text }
    expect(await refused(ada, 'shareView', view)).toEqual([`${field}: ${message}`])
  })

  it('has up to forty characters and a query of up to two thousand', async () => {
    const view = { page: 'PLAYERS', name: '🦊'.repeat(40), query: `a=${'b'.repeat(1_998)}` }
    expect((await share(ada, view)).sharedView).toMatchObject(view)
    expect(await refused(ada, 'shareView', { ...view, query: `${view.query}b` })).toEqual([
      'query: must be at most 2000 characters',
    ])
  })
})

describe('the rights to shared views', () => {
  const FORBIDDEN = 'FORBIDDEN'

  it.each([
    ['analyst', { PLAYERS: [FORBIDDEN, FORBIDDEN], LIVE: [FORBIDDEN, FORBIDDEN], AUDIT_LOG: [FORBIDDEN, FORBIDDEN] }],
    ['designer', { PLAYERS: [FORBIDDEN, FORBIDDEN], LIVE: [FORBIDDEN, FORBIDDEN], AUDIT_LOG: [FORBIDDEN, FORBIDDEN] }],
    ['viewer', { PLAYERS: ['ok', FORBIDDEN], LIVE: ['ok', FORBIDDEN], AUDIT_LOG: [FORBIDDEN, FORBIDDEN] }],
    ['support', { PLAYERS: ['ok', 'ok'], LIVE: ['ok', 'ok'], AUDIT_LOG: [FORBIDDEN, FORBIDDEN] }],
    ['operator', { PLAYERS: ['ok', 'ok'], LIVE: ['ok', 'ok'], AUDIT_LOG: [FORBIDDEN, FORBIDDEN] }],
    ['admin', { PLAYERS: ['ok', 'ok'], LIVE: ['ok', 'ok'], AUDIT_LOG: ['ok', 'ok'] }],
  ] as const)('are for the role %s, by page, to read, and to share and to remove: %j', async (role, table) => {
    const desk = new Desk(game, keys[role])
    const admin = new Desk(game, keys.admin)
    const codeOf = async (name: string, input: object) =>
      (await desk.mutate(name, { ...bare, ...input }, 'auditEntry { id }')).errors?.[0]?.extensions.code ?? 'ok'
    for (const page of ['PLAYERS', 'LIVE', 'AUDIT_LOG'] as const) {
      // The page is full after the test of its limit.
      await game.app.pool.query('DELETE FROM shared_views WHERE project_id = $1', [game.projectId])
      const view = newView(page)
      const { sharedViewId } = (await share(admin, view)).sharedView
      const found = await list(desk.as, page)
      const reads = Array.isArray(found) ? 'ok' : found
      const node = 'query ($id: ID!) { node(id: $id) { id } }'
      const { data } = await game.graphql(desk.as, node, { id: `SharedView:${sharedViewId}` })
      const shares = await codeOf('shareView', newView(page))
      const changes = await codeOf('shareView', { ...view, query: 'changed' })
      const removes = await codeOf('deleteSharedView', { sharedViewId })
      const [mayRead, mayShare] = table[page]
      expect([page, reads, data.node !== null]).toEqual([page, mayRead, mayRead === 'ok'])
      expect([page, shares, changes, removes]).toEqual([page, mayShare, mayShare, mayShare])
    }
  })

  it('are in the audit log where they are denied, by the page or the view', async () => {
    const { key, actor } = await newOperator(game.app.pool, game.projectId, 'support')
    const { sharedViewId } = (await share(new Desk(game, keys.admin), newView('AUDIT_LOG'))).sharedView
    const desk = new Desk(game, key)
    expect(await refused(desk, 'shareView', newView('AUDIT_LOG'))).toEqual([FORBIDDEN])
    expect(await refused(desk, 'deleteSharedView', { sharedViewId })).toEqual([FORBIDDEN])
    expect(await refused(desk, 'deleteSharedView', { sharedViewId: randomUUID() })).toEqual(['NOT_FOUND'])
    const { rows } = await game.app.pool.query('SELECT action, target FROM audit_log WHERE actor = $1 ORDER BY id', [
      actor,
    ])
    expect(rows).toEqual([
      { action: 'view.share.denied', target: 'audit_log' },
      { action: 'view.remove.denied', target: sharedViewId },
    ])
  })

  it('count a removal once in the rate limit of its key', async () => {
    const limited = await startGame({ RATE_LIMITS: 'login=off,sdk_key=off,player=off,operator=2/h,graphql=off' })
    try {
      const desk = new Desk(limited)
      const { sharedView } = await share(desk, newView())
      await remove(desk, sharedView.sharedViewId)
    } finally {
      await limited.stop()
    }
  })
})

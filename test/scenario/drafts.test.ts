import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { Desk } from '../grants/jobs.ts'
import { passNode, scenario } from '../harness/definitions.ts'
import { type Game, type GraphqlAnswer, startGame, times } from '../harness/game.ts'
import { auditRows, newOperator } from '../support/desk.ts'

let game: Game
let admin: Desk
/** Two designers with one key, told apart by their tokens. */
let ada: Desk
let bob: Desk

beforeAll(async () => {
  game = await startGame()
  admin = new Desk(game)
  const { key } = await newOperator(game.app.pool, game.projectId, 'designer')
  const tokenOf = async (actor: string) => {
    const { data } = await game.graphql(
      key,
      'mutation ($input: CreateOperatorTokenInput!) { createOperatorToken(input: $input) { token } }',
      { input: { actor, reason: 'test' } },
    )
    return admin.of(data.createOperatorToken.token)
  }
  ada = await tokenOf('Ada')
  bob = await tokenOf('Bob')
})
afterAll(() => game.stop())

const DRAFT = `draft { draftId scenarioId name definitionText baseVersion revision createdBy changedBy editors
  approval { revision by isCurrent } comments { commentId revision path text createdBy resolvedBy } }`

let count = 0
const newScenario = (): string => {
  count += 1
  return `shared-${count}`
}
const text = (xp = 100): string =>
  print(scenario([passNode('pass', { levels: [xp] })], [{ from: 'start', handle: 'onStart', to: 'pass' }]))

/** Mutations of drafts have no reason but where it is kept. */
const send = (desk: Desk, name: string, input: object) => desk.mutate(name, { reason: undefined, ...input }, DRAFT)
async function must(desk: Desk, name: string, input: object) {
  const { data, errors } = await send(desk, name, input)
  expect(errors).toBeUndefined()
  return data[name].draft
}
async function refused(desk: Desk, name: string, input: object) {
  const { errors } = await send(desk, name, input)
  const { code, details } = errors?.[0]?.extensions ?? {}
  const [fault] = (details ?? []) as readonly { readonly message: string }[]
  return [code, fault?.message].filter(Boolean).join(': ')
}

const share = (desk: Desk, input: object = {}) =>
  must(desk, 'createScenarioDraft', {
    ...{ scenarioId: newScenario(), name: 'rework', definition: text(), baseVersion: 0, ...input },
  })

async function list(desk: Desk, scenarioId: string) {
  const query = `query ($scenarioId: String) {
    scenarioDrafts(environment: "production", scenarioId: $scenarioId) { draftId name revision } }`
  return (await game.graphql(desk.as, query, { scenarioId })).data.scenarioDrafts
}

const publish = (desk: Desk, scenarioId: string, definition: string, more: object = {}) =>
  desk.mutate('publishScenario', { scenarioId, definition, ...more }, 'scenario { version } auditEntry { after }')
const codeOf = ({ errors }: Pick<GraphqlAnswer, 'errors'>): string => errors?.[0]?.extensions.code ?? 'ok'

describe('a shared draft of a scenario', () => {
  it('is seen and changed by the other designers, with faults and all', async () => {
    const draft = await share(ada, { definition: 'not JSON yet' })
    expect(draft).toMatchObject({ revision: 1, createdBy: 'Ada', changedBy: 'Ada', approval: null, comments: [] })
    const { draftId, scenarioId } = draft
    expect(await list(bob, scenarioId)).toEqual([{ draftId, name: 'rework', revision: 1 }])
    const saved = await must(bob, 'saveScenarioDraft', { draftId, expectedRevision: 1, definition: text() })
    expect(saved).toMatchObject({ revision: 2, createdBy: 'Ada', changedBy: 'Bob', definitionText: text() })
    // Nothing of it applies.
    expect(
      codeOf(
        await game.graphql(ada.as, `{ scenario(environment: "production", scenarioId: "${scenarioId}") { version } }`),
      ),
    ).toBe('ok')
    const deleted = await ada.must('deleteScenarioDraft', { draftId }, DRAFT)
    expect([deleted.draft, await list(bob, scenarioId)]).toEqual([null, []])
  })

  it('is made once by a call that is repeated, and a scenario has each name once', async () => {
    const input = { scenarioId: newScenario(), name: 'rework', definition: text(), baseVersion: 0 }
    const made = await Promise.all(times(5, () => share(ada, input)))
    expect(new Set(made.map(({ draftId }) => draftId)).size).toBe(1)
    expect(await refused(bob, 'createScenarioDraft', { ...input, definition: text(7) })).toMatch(
      /^INVALID_REQUEST: is the name/,
    )
    const other = await share(ada, { ...input, name: 'other' })
    expect(
      await refused(ada, 'saveScenarioDraft', {
        draftId: other.draftId,
        expectedRevision: 1,
        definition: text(),
        name: 'rework',
      }),
    ).toMatch(/is the name of another draft/)
  })

  it('is refused a name that another one takes at the same moment', async () => {
    const scenarioId = newScenario()
    const drafts = await Promise.all(times(6, (n) => share(ada, { scenarioId, name: `draft ${n}` })))
    const renamed = drafts.map(({ draftId }) =>
      send(ada, 'saveScenarioDraft', { draftId, expectedRevision: 1, definition: text(), name: 'best' }),
    )
    const codes = (await Promise.all(renamed)).map(codeOf).sort()
    expect(codes).toEqual([...times(5, () => 'INVALID_REQUEST'), 'ok'])
  })

  it('is changed once by ten who have seen the same revision, and nobody overwrites another', async () => {
    const { draftId } = await share(ada)
    const saves = await Promise.all(
      times(10, (n) =>
        send(n % 2 ? ada : bob, 'saveScenarioDraft', { draftId, expectedRevision: 1, definition: text(n + 2) }),
      ),
    )
    const codes = saves.map(codeOf)
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1)
    expect(new Set(codes)).toEqual(new Set(['ok', 'VERSION_CONFLICT']))
    // The answer that was lost is repeated.
    const { definitionText, revision } = saves.find((one) => codeOf(one) === 'ok')?.data.saveScenarioDraft.draft ?? {}
    const again = await must(ada, 'saveScenarioDraft', { draftId, expectedRevision: 1, definition: definitionText })
    expect([revision, again.revision]).toEqual([2, 2])
    expect(await refused(bob, 'saveScenarioDraft', { draftId, expectedRevision: 1, definition: text(99) })).toMatch(
      /^VERSION_CONFLICT: the current revision is 2, by /,
    )
  })

  it('names the people who have it open', async () => {
    const { draftId } = await share(ada)
    await must(ada, 'openScenarioDraft', { draftId })
    expect((await must(bob, 'openScenarioDraft', { draftId })).editors).toEqual(['Ada', 'Bob'])
    await game.app.pool.query("UPDATE draft_editors SET seen_at = now() - interval '31 s' WHERE person = 'Ada'")
    expect((await must(bob, 'openScenarioDraft', { draftId })).editors).toEqual(['Bob'])
    expect(await refused(ada, 'openScenarioDraft', { draftId: randomUUID() })).toBe('NOT_FOUND')
  })

  it('has comments, each once, that anybody marks as done', async () => {
    const { draftId } = await share(ada)
    const input = { draftId, text: 'too much gold', path: 'nodes[0].data.levels[0]', idempotencyKey: 'c-1' }
    await Promise.all(times(3, () => must(bob, 'commentOnScenarioDraft', input)))
    const { comments } = await must(ada, 'commentOnScenarioDraft', { draftId, text: 'agreed', idempotencyKey: 'c-1' })
    expect(comments).toMatchObject([
      { revision: 1, path: 'nodes[0].data.levels[0]', text: 'too much gold', createdBy: 'Bob', resolvedBy: null },
      { path: null, text: 'agreed', createdBy: 'Ada' },
    ])
    const { commentId } = comments[0]
    await must(ada, 'resolveDraftComment', { draftId, commentId })
    const done = await must(bob, 'resolveDraftComment', { draftId, commentId })
    expect(done.comments[0].resolvedBy).toBe('Ada')
    expect(await refused(bob, 'resolveDraftComment', { draftId, commentId: randomUUID() })).toBe('NOT_FOUND')
  })

  it('is approved by another person than the one who wrote it, until its text changes, on record', async () => {
    const { draftId } = await share(ada)
    const approve = { draftId, revision: 1, reason: 'looks right' }
    expect(await refused(ada, 'approveScenarioDraft', approve)).toMatch(
      /^FORBIDDEN: is of a draft that a second person/,
    )
    expect(await refused(bob, 'approveScenarioDraft', { ...approve, revision: 2 })).toMatch(/^VERSION_CONFLICT/)
    const approval = { revision: 1, by: 'Bob', isCurrent: true }
    expect((await must(bob, 'approveScenarioDraft', approve)).approval).toEqual(approval)
    const renamed = { draftId, expectedRevision: 1, definition: text(), name: 'renamed' }
    expect((await must(ada, 'saveScenarioDraft', renamed)).approval).toEqual(approval)
    const changed = await must(bob, 'saveScenarioDraft', { draftId, expectedRevision: 1, definition: text(5) })
    expect([changed.name, changed.approval]).toEqual(['renamed', { ...approval, isCurrent: false }])
    const rows = await auditRows(game.app.pool, game.projectId, draftId)
    expect(rows.map(({ action, reason }) => [action, reason])).toEqual([
      ['scenario_draft.create', null],
      ['scenario_draft.approve.denied', null],
      ['scenario_draft.approve', 'looks right'],
    ])
  })

  it('ends when its text is published', async () => {
    const { scenarioId } = await share(ada, { definition: ` ${text()}\n` })
    const other = await share(ada, { scenarioId, name: 'other', definition: text(3) })
    expect(codeOf(await publish(bob, scenarioId, text()))).toBe('ok')
    expect(await list(ada, scenarioId)).toEqual([{ draftId: other.draftId, name: 'other', revision: 1 }])
  })
})

describe('an environment that demands approval', () => {
  const demand = (requiresApproval: boolean, environment = 'production') =>
    admin.must(
      'setPublishPolicy',
      { environment, requiresApproval },
      'policy { requiresApproval } auditEntry { action }',
    )

  it('publishes only what a second person has approved, over GraphQL and REST, now and later, for every role', async () => {
    expect(await demand(true)).toEqual({
      policy: { requiresApproval: true },
      auditEntry: { action: 'publish_policy.set' },
    })
    expect((await demand(true)).auditEntry).toBeNull()
    const scenarioId = newScenario()
    const put = async (definition: string) => {
      const path = `/platform/v1/projects/${game.projectId}/scenarios/${scenarioId}?environment=production`
      const headers = { authorization: `Bearer ${game.platformKey}` }
      return (await game.request('PUT', path, { body: definition, headers })).body.code ?? 'ok'
    }
    const plan = async (desk: Desk, definition: string) =>
      codeOf(
        await desk.mutate(
          'schedulePublication',
          { scenarioId, definition, publishAt: '2099-01-01T00:00:00Z' },
          'publication { publicationId }',
        ),
      )
    const { draftId } = await share(ada, { scenarioId })
    const all = async (definition: string) => [
      codeOf(await publish(ada, scenarioId, definition)),
      codeOf(await publish(admin, scenarioId, definition)),
      await plan(bob, definition),
      await put(definition),
    ]
    expect(await all(text())).toEqual([
      'APPROVAL_REQUIRED',
      'APPROVAL_REQUIRED',
      'APPROVAL_REQUIRED',
      'approval_required',
    ])
    await must(bob, 'approveScenarioDraft', { draftId, revision: 1, reason: 'ok' })
    expect(await all(text(7))).toEqual([
      'APPROVAL_REQUIRED',
      'APPROVAL_REQUIRED',
      'APPROVAL_REQUIRED',
      'approval_required',
    ])
    expect(await plan(bob, text())).toBe('ok')
    const published = await publish(ada, scenarioId, text())
    expect(published.data.publishScenario.auditEntry.after).toMatchObject({ version: 1, approvedBy: 'Bob' })
    expect(await put(text())).toBe('ok')
    // A text that was a version needs no approval again.
    const next = await share(ada, { scenarioId, definition: text(2) })
    await must(bob, 'approveScenarioDraft', { draftId: next.draftId, revision: 1, reason: 'ok' })
    expect(await put(text(2))).toBe('ok')
    expect(codeOf(await publish(ada, scenarioId, text()))).toBe('ok')
    await demand(false)
    expect(codeOf(await publish(ada, scenarioId, text(9)))).toBe('ok')
  })

  it('takes no version of another environment without approval', async () => {
    const scenarioId = newScenario()
    expect(codeOf(await publish(ada, scenarioId, text()))).toBe('ok')
    await demand(true, 'staging')
    const clone = { scenarioId, toEnvironment: 'staging', toScenarioId: scenarioId }
    const cloned = () => bob.mutate('cloneScenario', clone, 'scenario { version }')
    expect(codeOf(await cloned())).toBe('APPROVAL_REQUIRED')
    const { draftId } = await share(ada, { environment: 'staging', scenarioId })
    await must(bob, 'approveScenarioDraft', { environment: 'staging', draftId, revision: 1, reason: 'ok' })
    expect(codeOf(await cloned())).toBe('ok')
    await demand(false, 'staging')
  })

  it('never publishes a text that was changed while it was approved, in twenty races', async () => {
    await demand(true)
    for (const round of times(20, (n) => n)) {
      const { draftId, scenarioId } = await share(ada)
      const [saved, approved, published] = await Promise.all([
        send(bob, 'saveScenarioDraft', { draftId, expectedRevision: 1, definition: text(50 + round) }),
        send(bob, 'approveScenarioDraft', { draftId, revision: 1, reason: 'ok' }),
        publish(ada, scenarioId, text()),
      ])
      if (codeOf(published) !== 'ok') {
        expect(codeOf(published)).toBe('APPROVAL_REQUIRED')
        continue
      }
      // Then it was approved before it was published, and the text that was saved is not the one that is published.
      expect([codeOf(approved), published.data.publishScenario.auditEntry.after.approvedBy]).toEqual(['ok', 'Bob'])
      expect(['NOT_FOUND', 'VERSION_CONFLICT', 'ok']).toContain(codeOf(saved))
    }
    await demand(false)
  })
})

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../../src/base/json.ts'
import { passNode, scenario } from '../../harness/definitions.ts'
import { type Game, startGame, type TestPlayer } from '../../harness/game.ts'
import { pathOf, post } from '../../operators/over-rest.ts'

// What takes the id of an object takes its global id, too: the `id` that every `Node` has.

const PLACE = { scenarioId: 'season', nodeId: 'pass' }
const DEFINITION = scenario([passNode('pass')], [{ from: 'start', handle: 'onStart', to: 'pass' }])
const LATER = '2099-01-01T00:00:00Z'

let game: Game
let player: TestPlayer
let id: string

beforeAll(async () => {
  game = await startGame()
  expect((await game.publish('season', DEFINITION)).status).toBe(200)
  player = await game.player()
  id = `Player:${player.playerId}`
})
afterAll(() => game.stop())

/** A query, or a mutation of an operator with its reason and key, that must succeed. */
async function ask(query: string, variables: object = {}, credentials = game.platformKey) {
  const { data, errors } = await game.graphql(credentials, query, { ...variables })
  expect(errors).toBeUndefined()
  return data
}
async function change(name: string, input: object, selection: string, credentials = game.platformKey) {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const query = `mutation ($input: ${type}!) { done: ${name}(input: $input) { ${selection} } }`
  return (await ask(query, { input }, credentials)).done
}
const because = () => ({ reason: 'a test', idempotencyKey: randomUUID() })
const inProduction = { environment: 'production', reason: 'a test' }
const ofPlayer = async (selection: string) =>
  (await ask(`query ($id: ID!) { player(id: $id) { ${selection} } }`, { id })).player

async function newMessage(): Promise<{ id: string; messageId: string }> {
  const text = [{ language: 'en', title: 'Hello' }]
  const { messageId } = await change('sendMessage', { playerId: id, text, ...because() }, 'messageId')
  return { id: `InboxMessage:${player.playerId}/${messageId}`, messageId }
}

describe('the global id of an object (contract 12)', () => {
  it('of a run is taken by the calls of a player, and by what cancels it', async () => {
    const { runId } = await change('startRun', { scenarioId: 'season' }, 'runId', player.token)
    const { runs } = await ofPlayer('runs(first: 1) { nodes { id runId } }')
    expect(runs.nodes).toEqual([{ id: `Run:${player.playerId}/${runId}`, runId }])
    const [run] = runs.nodes
    const query = 'query ($runId: ID!) { run(runId: $runId) { runId status } }'
    expect(await ask(query, { runId: run.id }, player.token)).toEqual({ run: { runId, status: 'ACTIVE' } })
    const xp = { ...PLACE, amount: '50', idempotencyKey: 'one' }
    // Both forms are one request: the key answers what it answered.
    const first = await change('addXp', { ...xp, runId: run.id }, 'xp', player.token)
    expect(await change('addXp', { ...xp, runId }, 'xp', player.token)).toEqual(first)
    expect((await ofPlayer('passes { xp }')).passes).toEqual([{ xp: '50' }])
    const of = { playerId: id, runId: run.id, ...because() }
    expect(await change('cancelRun', of, 'error player { id }')).toEqual({ error: null, player: { id } })
    expect(await ask(query, { runId: run.id }, player.token)).toEqual({ run: { runId, status: 'CANCELLED' } })
  })

  it('of a message is taken by its player and by operators, alone and in a list', async () => {
    const [one, two, three] = [await newMessage(), await newMessage(), await newMessage()]
    const messageIds = [one.id, two.messageId]
    expect(await change('markMessagesRead', { messageIds }, 'unread', player.token)).toEqual({ unread: 1 })
    expect(await change('claimMessage', { messageId: one.id }, 'error', player.token)).toEqual({ error: null })
    const of = { playerId: id, messageId: three.id, ...because() }
    expect(await change('cancelMessage', of, 'error changed')).toEqual({ error: null, changed: true })
  })

  it('of a note and of a boost of a player is taken', async () => {
    const { note } = await change('addPlayerNote', { playerId: id, text: 'kind', ...because() }, 'note { id }')
    const gone = { playerId: id, noteId: note.id, ...because() }
    expect(await change('deletePlayerNote', gone, 'error changed')).toEqual({ error: null, changed: true })
    const given = { playerId: id, percent: 50, minutes: 60, ...because() }
    const { boost } = await change('grantPlayerBoost', given, 'boost { id }')
    const ended = { playerId: id, boostId: boost.id, ...because() }
    expect(await change('endPlayerBoost', ended, 'error changed')).toEqual({ error: null, changed: true })
  })

  it('of a draft and of a planned publication is taken', async () => {
    const definition = print(DEFINITION)
    const made = { environment: 'production', scenarioId: 'season', name: 'next', definition, baseVersion: 1 }
    const { draft } = await change('createScenarioDraft', made, 'draft { id draftId }')
    expect(draft.id).toBe(`ScenarioDraft:production/${draft.draftId}`)
    const read = 'query ($id: ID!) { scenarioDraft(environment: "production", draftId: $id) { draftId } }'
    expect((await ask(read, { id: draft.id })).scenarioDraft).toEqual({ draftId: draft.draftId })
    const { text } = await game.request(
      'GET',
      `${pathOf(game, 'scenarioDraft')}?environment=production&draftId=${draft.id}`,
      {
        headers: { authorization: `Bearer ${game.platformKey}` },
      },
    )
    expect(text).toContain(`"draftId":"${draft.draftId}"`)
    const planned = { ...inProduction, scenarioId: 'season', definition, publishAt: LATER }
    const { publication } = await change('schedulePublication', planned, 'publication { id }')
    const of = { ...inProduction, publicationId: publication.id }
    expect(await change('cancelPublication', of, 'publication { state }')).toEqual({
      publication: { state: 'CANCELLED' },
    })
    // The entry of a refused attempt has the plain id.
    const { errors } = await game.graphql(
      await game.key('viewer'),
      'mutation ($input: DeleteScenarioDraftInput!) { deleteScenarioDraft(input: $input) { auditEntry { id } } }',
      { input: { ...inProduction, draftId: draft.id } },
    )
    expect(errors?.[0]?.extensions.code).toBe('FORBIDDEN')
    const { auditLog } = await ask('{ auditLog(first: 1) { nodes { action target } } }')
    expect(auditLog.nodes).toEqual([{ action: 'scenario_draft.delete.denied', target: draft.draftId }])
  })

  it('of a player is taken in lists, and by the stream', async () => {
    const other = await game.player()
    const playerIds = [id, other.playerId]
    for (const name of ['banPlayers', 'unbanPlayers'])
      expect(await change(name, { playerIds, ...because() }, 'results { playerId error }')).toEqual({
        results: [player, other].map(({ playerId }) => ({ playerId, error: null })),
      })
    const sent = { to: { playerIds }, give: { rewards: [{ currency: 'gems', amount: '1' }] } }
    const preview = 'query ($input: PreviewGrantJobInput!) { previewGrantJob(input: $input) { players } }'
    const input = { environment: 'production', allowNew: true, ...sent }
    expect((await ask(preview, { input })).previewGrantJob).toEqual({ players: 2 })
    const events = 'query ($id: ID) { events(environment: "production", playerId: $id) { nodes { playerId } } }'
    const { nodes } = (await ask(events, { id })).events
    expect(nodes.length).toBeGreaterThan(0)
    expect(nodes).toEqual(nodes.map(() => ({ playerId: player.playerId })))
  })

  it('of another type, with another number of parts or without an id is refused', async () => {
    const { messageId } = await newMessage()
    const refused = async (given: string) => {
      const input = { playerId: id, messageId: given, ...because() }
      const query = 'mutation ($input: CancelMessageInput!) { cancelMessage(input: $input) { changed } }'
      const { errors } = await game.graphql(game.platformKey, query, { input })
      return errors?.[0]?.extensions.details
    }
    const [own, less] = [`InboxMessage:${player.playerId}`, `InboxMessage:${messageId}`]
    const others = [`PlayerNote:${player.playerId}/${messageId}`, `${own}/`, `${own}/x`, less, `${own}/a/${messageId}`]
    for (const given of others)
      expect([given, await refused(given)]).toEqual([given, [{ path: 'messageId', message: 'must be an id' }]])
    const { status, body } = await post(game, game.platformKey, 'banPlayers', {
      playerIds: [id, `Run:${player.playerId}/${messageId}`],
      ...because(),
    })
    expect([status, body.details]).toEqual([400, [{ path: 'playerIds[1]', message: 'must be an id' }]])
  })
})

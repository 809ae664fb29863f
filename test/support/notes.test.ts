import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_NOTES } from '../../src/base/limits.ts'
import { addPlayerNote } from '../../src/operations/support/support-notes.ts'
import {
  type Game,
  generateKeys,
  type Instance,
  startGame,
  startInstance,
  type TestPlayer,
  times,
} from '../harness/game.ts'
import { auditRows, codeOf, newOperator, type Operator, payload, support } from './desk.ts'

// Notes of operators about a player.

let game: Game
let other: Instance
let operator: Operator
let viewer: Operator

beforeAll(async () => {
  const keys = await generateKeys()
  game = await startGame(keys)
  other = await startInstance(game.databaseUrl, keys)
  operator = await newOperator(game.app.pool, game.projectId)
  viewer = await newOperator(game.app.pool, game.projectId, 'viewer')
})
afterAll(async () => {
  await other?.stop()
  await game?.stop()
})

const add = ({ playerId }: TestPlayer, text: string) =>
  support(game, operator.key, 'addPlayerNote', { playerId, text, idempotencyKey: randomUUID(), reason: 'a note' })

/** Adds a note on an instance. Returns the refusal, or null. */
async function addOn({ app }: Pick<Instance, 'app'>, player: TestPlayer, text: string): Promise<string | null> {
  const call = { caller: operator.caller, player, reason: 'a note', idempotencyKey: randomUUID() }
  return app.service.run(addPlayerNote(call, { text })).then(
    () => null,
    (error) => String(error.message),
  )
}

const NOTES = `query N($id: ID!, $after: String) { player(id: $id) { notes(first: 2, after: $after) {
  nodes { noteId text actor operator operatorIsClaimed createdAt } pageInfo { hasNextPage endCursor } } } }`

async function notesOf({ playerId }: TestPlayer, key = viewer.key) {
  const found = []
  for (let after: string | null = null; ; ) {
    const { data } = await game.graphql(key, NOTES, { id: playerId, after })
    const { nodes, pageInfo } = data.player.notes
    found.push(...nodes)
    if (!pageInfo.hasNextPage) return found
    after = pageInfo.endCursor
  }
}

const fill = ({ environmentId, playerId }: TestPlayer, count: number) =>
  game.app.pool.query(
    `INSERT INTO player_notes (environment_id, player_id, id, text, actor, operator_is_claimed)
     SELECT $1, $2, gen_random_uuid(), 'n', 'test', false FROM generate_series(1, $3)`,
    [environmentId, playerId, count],
  )

describe('notes about a player', () => {
  it('are listed for a viewer, the latest first, with who wrote them, under the id of their audit entry', async () => {
    const player = await game.player()
    for (const text of ['one', 'two', 'three']) payload(await add(player, text))
    const notes = await notesOf(player)
    expect(notes.map(({ text }) => text)).toEqual(['three', 'two', 'one'])
    expect(notes[0]).toMatchObject({ actor: operator.actor, operator: null, operatorIsClaimed: false })
    const rows = await auditRows(game.app.pool, game.projectId, player.playerId)
    expect(rows.map(({ after }) => after.noteId)).toEqual(notes.map(({ noteId }) => noteId).reverse())
    const { rows: entries } = await game.app.pool.query('SELECT id FROM audit_log WHERE target = $1 ORDER BY id', [
      player.playerId,
    ])
    expect(entries.map(({ id }) => id)).toEqual(notes.map(({ noteId }) => noteId).reverse())
  })

  it('are never seen by the player: neither as a field, nor by their id, nor in its export', async () => {
    const player = await game.player()
    payload(await add(player, 'a secret about the player'))
    const { data } = await game.graphql(viewer.key, `{ player(id: "${player.playerId}") { notes { nodes { id } } } }`)
    const [{ id }] = data.player.notes.nodes
    expect((await player.graphql('{ me { notes { nodes { text } } } }')).errors).toMatchObject([
      { extensions: { code: 'FORBIDDEN' } },
    ])
    const node = await player.graphql(`{ node(id: "${id}") { ... on PlayerNote { text } } }`)
    expect(JSON.stringify(node)).not.toContain('secret')
    const response = await fetch(`${game.baseUrl}/sdk/v1/player/export`, {
      ...{ method: 'POST', body: '{}', headers: { authorization: `Bearer ${player.token}` } },
    })
    const exported = await response.text()
    expect(exported).toContain(player.playerId)
    expect(exported).not.toContain('secret')
    expect(exported).not.toContain('note')
  })

  it(`are at most ${MAX_NOTES}, also when two instances add the last one at once, and a removal makes room`, async () => {
    const player = await game.player()
    await fill(player, MAX_NOTES - 1)
    const ways = [game, other, game, other]
    const refusals = await Promise.all(ways.map((on, index) => addOn(on, player, `last ${index}`)))
    expect(refusals.filter((refusal) => refusal !== null)).toEqual(times(3, () => 'too many notes'))
    expect(codeOf(await add(player, 'one more'))).toBe('TOO_MANY_NOTES')
    const notes = await notesOf(player)
    expect(notes).toHaveLength(MAX_NOTES)
    const remove = { playerId: player.playerId, noteId: notes[0].noteId, reason: 'old' }
    const removed = await Promise.all(times(3, () => support(game, operator.key, 'deletePlayerNote', remove)))
    expect(removed.map((one) => payload(one).changed).sort()).toEqual([false, false, true])
    payload(await add(player, 'room'))
  })

  it('of another player are not removed', async () => {
    const [one, two] = [await game.player(), await game.player()]
    payload(await add(one, 'mine'))
    const [{ noteId }] = await notesOf(one)
    const outcome = await support(game, operator.key, 'deletePlayerNote', {
      ...{ playerId: two.playerId, noteId, reason: 'x' },
    })
    expect(payload(outcome).changed).toBe(false)
    expect(await notesOf(one)).toHaveLength(1)
  })
})

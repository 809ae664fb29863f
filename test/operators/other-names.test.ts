import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nameNow } from '../../src/declare/graphql/field-marks.ts'
import { operatorCalls } from '../../src/operator-calls.ts'
import { type Game, startGame } from '../harness/game.ts'
import { KINDS, rootFields } from '../serve/graphql/documents.ts'
import { newOperator, type Operator } from '../support/desk.ts'

// A field that was renamed is there under its former name, too, for one release, and under a name of the contract for ever.

const others = KINDS.flatMap((kind) =>
  rootFields(kind)
    .filter((field) => nameNow(field) !== field.name)
    .map((field) => [`${kind}.${field.name}`, kind, field] as const),
)

let game: Game
let operator: Operator

beforeAll(async () => {
  game = await startGame()
  operator = await newOperator(game.app.pool, game.projectId)
})
afterAll(() => game.stop())

describe('a field under another name', () => {
  it.each(others)('is the field itself, which a deprecation of the former name tells: %s', (_name, kind, field) => {
    const now = rootFields(kind).find(({ name }) => name === nameNow(field))
    expect(now?.deprecationReason ?? null).toBeNull()
    expect([field.type, field.args, field.resolve, field.subscribe]).toEqual([
      ...[now?.type, now?.args, now?.resolve, now?.subscribe],
    ])
    expect(field.description).toBe(`The same as \`${now?.name}\`.`)
    // The contract names these two.
    const isPromised = ['events', 'playerCreated'].includes(field.name)
    expect(field.deprecationReason ?? null).toBe(isPromised ? null : `Use ${now?.name}.`)
  })

  it('is one name for each renamed call of operators, which no call has today', () => {
    const names = operatorCalls.flatMap(({ formerly }) => formerly ?? [])
    const mutations = others.flatMap(([, kind, { name }]) => (kind === 'Mutation' ? [name] : []))
    expect(mutations).toEqual(expect.arrayContaining(names))
    expect(operatorCalls.filter(({ name }) => names.includes(name))).toEqual([])
  })

  it('repeats what was done under the new one, and the other way round: a key stands for the action', async () => {
    const { playerId } = await game.player()
    const give = async (name: string, idempotencyKey: string) => {
      const input = { playerId, percent: 50, minutes: 60, reason: 'a gift', idempotencyKey }
      const query = `mutation ($input: GrantPlayerBoostInput!) {
        done: ${name}(input: $input) { error boost { boostId endsAt } auditEntry { id action } }
      }`
      const { data, errors } = await game.graphql(operator.key, query, { input })
      expect(errors).toBeUndefined()
      return data.done
    }
    const first = await give('grantBoost', 'a')
    expect(first.auditEntry.action).toBe('player.grant_boost')
    expect(await give('grantPlayerBoost', 'a')).toEqual(first)
    const second = await give('grantPlayerBoost', 'b')
    expect(await give('grantBoost', 'b')).toEqual(second)
    const { rows } = await game.app.pool.query(
      'SELECT operation, key, request FROM idempotency_keys WHERE player_id = $1 ORDER BY key',
      [playerId],
    )
    // As the release before stored it: no name of a field is in it.
    const stored = { operation: 'support.grant_boost', request: 'HMRy_FBPYibmxfXdRhdUpL5nY8pV_Ms-sbrDthgePNA' }
    expect(rows).toEqual([
      { ...stored, key: 'a' },
      { ...stored, key: 'b' },
    ])
  })
})

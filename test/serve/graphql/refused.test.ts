import { readFile } from 'node:fs/promises'
import { isEnumType, isInterfaceType, isNonNullType, isObjectType } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../src/db/ids.ts'
import { withRefusalTable } from '../../../src/dev/refusal-docs.ts'
import { schema } from '../../../src/schema.ts'
import { enter, game, startPassGame, stopPassGame } from '../../battlepass/pass-game.ts'
import { post } from '../../operators/over-rest.ts'

beforeAll(startPassGame)
afterAll(stopPassGame)

const REFUSAL = 'error ...Refusal'
const FRAGMENT = 'fragment Refusal on Refused { message }'

async function mutate(player: Awaited<ReturnType<typeof enter>>['player'], name: string, input: object) {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`
  const { data, errors } = await player.graphql(
    `mutation ($input: ${type}!) { ${name}(input: $input) { ${REFUSAL} } } ${FRAGMENT}`,
    { input },
  )
  expect(errors).toBeUndefined()
  return data[name]
}

describe('a refusal that is data (contract 12)', () => {
  it('has a message beside its error, in every type', () => {
    const objects = Object.values(schema.getTypeMap()).filter(isObjectType)
    const refused = objects.filter((type) => isEnumType(type.getFields().error?.type))
    expect(refused.length).toBeGreaterThan(15)
    const unlike = refused.filter(
      (type) =>
        String(type.getFields().message?.type) !== 'String' ||
        !type.getInterfaces().some(({ name }) => name === 'Refused'),
    )
    expect(unlike.map(({ name }) => name)).toEqual([])
    const refusable = schema.getType('Refused')
    expect(isInterfaceType(refusable) && schema.getPossibleTypes(refusable).length).toBe(refused.length)
    const fields = isInterfaceType(refusable) ? Object.values(refusable.getFields()) : []
    expect(fields.map(({ name, type }) => [name, isNonNullType(type)])).toEqual([['message', false]])
  })

  it('is named by each mutation that can answer it, and all are in the guide', async () => {
    const { claimAllMessages, banPlayer, banPlayers, createBoost } = schema.getMutationType()?.getFields() ?? {}
    expect(claimAllMessages?.description).toMatch(/ As `error`: `BALANCE_LIMIT_EXCEEDED`\.$/)
    expect(banPlayer?.description).toMatch(/ As `error`: a `SupportError`\.$/)
    expect(banPlayers?.description).toMatch(/ As `error`: `PLAYER_NOT_FOUND`, `PLAYER_DELETED`\.$/)
    expect(createBoost?.description).not.toContain('error')
    const page = await readFile(new URL('../../../docs/graphql.md', import.meta.url), 'utf8')
    expect(withRefusalTable(page, schema) === page, 'run `npm run schema`, and commit what it writes').toBe(true)
  })

  it('needs no `success`: each is deprecated beside an error', () => {
    const fields = Object.values(schema.getTypeMap()).flatMap((type) => {
      const own = isObjectType(type) ? type.getFields() : {}
      return own.success ? [[own.error !== undefined, own.success.deprecationReason]] : []
    })
    const reason = 'Read error: it is null on success.'
    expect(fields).toEqual([1, 2, 3].map(() => [true, reason]))
  })

  it('has a sentence for every value of such an error', () => {
    const enums = new Set(
      Object.values(schema.getTypeMap()).flatMap((type) => {
        const of = isObjectType(type) ? type.getFields().error?.type : undefined
        return isEnumType(of) ? [of] : []
      }),
    )
    const values = [...enums].flatMap((type) => type.getValues())
    expect(values.filter(({ description }) => !/^[A-Z].*\.$/.test(description ?? '')).map(({ name }) => name)).toEqual(
      [],
    )
  })

  it('tells a player why a call did nothing, and nothing on success', async () => {
    const { player, place, runId, xp } = await enter('season')
    const at = { ...place, runId }
    const claim = { ...at, level: 2, track: 'FREE' }
    expect([
      await mutate(player, 'claimTier', claim),
      await mutate(player, 'purchasePremium', at),
      await mutate(player, 'claimMessage', { messageId: newId() }),
      await mutate(player, 'claimAllMessages', {}),
    ]).toEqual([
      { error: 'LEVEL_NOT_REACHED', message: 'The player is below the level of the tier.' },
      { error: 'INSUFFICIENT_FUNDS', message: 'The wallet has less than the price.' },
      {
        error: 'MESSAGE_NOT_FOUND',
        message: 'The inbox has no such message: it is unknown, was cancelled, or expired more than a week ago.',
      },
      { error: null, message: null },
    ])
    await xp(1_000_000)
    // The first call, and a repeated one.
    for (const _ of [1, 2]) expect(await mutate(player, 'claimTier', claim)).toEqual({ error: null, message: null })
    expect(await mutate(player, 'claimAll', at)).toEqual({ error: null, message: null })
  })

  it('tells an operator the same of each player of a list, and REST answers as it did', async () => {
    const playerId = newId()
    const input = { playerIds: [playerId], reason: 'test', idempotencyKey: 'nobody' }
    const { data } = await game.graphql(
      game.platformKey,
      `mutation ($input: UnbanPlayersInput!) { unbanPlayers(input: $input) { results { ${REFUSAL} } } } ${FRAGMENT}`,
      { input },
    )
    expect(data.unbanPlayers.results).toEqual([
      { error: 'PLAYER_NOT_FOUND', message: 'The project has no such player.' },
    ])
    const { text } = await post(game, game.platformKey, 'unbanPlayers', input)
    expect(text).toBe(`{"results":[{"error":"player not found","playerId":"${playerId}"}]}`)
  })
})

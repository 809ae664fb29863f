import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { season } from '../harness/definitions.ts'
import { type Game, startGame } from '../harness/game.ts'
import { startOperator, type Operator as Webhook } from '../harness/operator.ts'
import {
  type Input,
  type LoggedIn,
  logIn,
  type Mutation,
  newOperator,
  type Operator,
  obey,
  payload,
  support,
} from './desk.ts'

// The timeline of a player, from all logs that know it.

let game: Game
let webhook: Webhook
let operator: Operator
let viewer: Operator

beforeAll(async () => {
  game = await startGame()
  webhook = await startOperator(obey)
  operator = await newOperator(game.app.pool, game.projectId)
  viewer = await newOperator(game.app.pool, game.projectId, 'viewer')
  await game.setProviders({ default: { enabled: true, url: webhook.url, secret: webhook.secret } })
  await game.publish('season', season())
})
afterAll(async () => {
  await webhook?.close()
  await game?.stop()
})

const act = async (mutation: Mutation, { playerId }: LoggedIn, input: Input = {}) =>
  payload(
    await support(game, operator.key, mutation, {
      playerId,
      reason: 'ticket 7',
      idempotencyKey: randomUUID(),
      ...input,
    }),
  )

const ENTRY = `kind occurredAt login { outcome } event { handle } claim { level track } auditEntry { action } message { messageId }
  note { text }`

interface Entry {
  readonly kind: string
  readonly occurredAt: string
  readonly login: { readonly outcome: string } | null
  readonly event: { readonly handle: string } | null
  readonly claim: { readonly level: number; readonly track: string } | null
  readonly auditEntry: { readonly action: string } | null
  readonly message: { readonly messageId: string } | null
  readonly note: { readonly text: string } | null
}

async function page({ playerId }: LoggedIn, first: number, after: string | null, kinds?: readonly string[]) {
  const { data, errors } = await game.graphql(
    operator.key,
    `query T($id: ID!, $first: Int, $after: String, $kinds: [TimelineKind!]) { player(id: $id) {
      timeline(first: $first, after: $after, kinds: $kinds) {
        edges { cursor node { ${ENTRY} } } pageInfo { hasNextPage endCursor } } } }`,
    { id: playerId, first, after, kinds },
  )
  expect(errors).toBeUndefined()
  const { edges, pageInfo } = data.player.timeline
  return { entries: edges.map(({ node }: { node: Entry }) => node) as Entry[], cursors: edges, ...pageInfo }
}

/** The whole timeline, page by page. `meanwhile` runs between the pages. */
async function whole(player: LoggedIn, first = 200, kinds?: readonly string[], meanwhile = async () => {}) {
  const found: Entry[] = []
  for (let after: string | null = null; ; ) {
    const { entries, hasNextPage, endCursor } = await page(player, first, after, kinds)
    found.push(...entries)
    if (!hasNextPage) return found
    after = endCursor
    await meanwhile()
  }
}

const wordsOf = ({ kind, login, event, claim, auditEntry, message, note }: Entry): string =>
  `${kind} ${login?.outcome ?? event?.handle ?? (claim && `${claim.track} ${claim.level}`) ?? auditEntry?.action ?? note?.text ?? (message ? 'message' : '')}`

/** A player with entries of each kind, in this order. */
async function busy(): Promise<LoggedIn> {
  const player = await logIn(game, randomUUID())
  const runId = await player.start('season')
  const pass = { scenarioId: 'season', nodeId: 'pass' }
  await act('creditWallet', player, { currency: 'gems', amount: 5_000n })
  const post = async (path: string, body: object) => {
    expect((await player.post(`/sdk/v1/battlepass/${path}`, { ...pass, runId, ...body })).status).toBe(200)
  }
  await post('xp', { amount: 150 })
  await post('claim', { level: 1, track: 'free' })
  await post('premium', {})
  await act('addPlayerNote', player, { text: 'asked for gems' })
  await act('sendMessage', player, { rewards: [{ itemId: 'hat', amount: 1 }] })
  return player
}

const ORDER = [
  'MAIL message',
  'SUPPORT player.send_message',
  'NOTE asked for gems',
  'PURCHASE onPremiumPurchase',
  'CLAIM FREE 1',
  'LEVEL onLevelUp',
  'SUPPORT player.credit_wallet',
  'LOGIN OK',
]

describe('the timeline of a player', () => {
  it('joins logins, levels, claims, purchases, actions of support, mail and notes, the latest first', async () => {
    const entries = await whole(await busy())
    // The message and the entry of its sending have one moment.
    expect(entries.slice(0, 2).map(wordsOf).sort()).toEqual(ORDER.slice(0, 2))
    expect(entries.slice(2).map(wordsOf)).toEqual(ORDER.slice(2))
    const times = entries.map(({ occurredAt }) => Date.parse(occurredAt))
    expect([...times].sort((a, b) => b - a)).toEqual(times)
  })

  it.each([1, 2, 3, 6])('in pages of %i has each entry once, and none that is added while it is read', async (size) => {
    const player = await busy()
    const before = await whole(player)
    let added = 0
    const during = await whole(player, size, undefined, async () => {
      added += 1
      await act('addPlayerNote', player, { text: `later ${added}` })
      await act('creditWallet', player, { currency: 'gems', amount: 1n })
      await player.post('/sdk/v1/battlepass/xp', { scenarioId: 'season', nodeId: 'pass', amount: 100, runId: null })
    })
    expect(added).toBeGreaterThan(0)
    expect(during).toEqual(before)
  })

  it('is as complete when a log has an earlier time at a later place, as clocks of instances may differ', async () => {
    const player = await busy()
    await act('addPlayerNote', player, { text: 'second' })
    await act('addPlayerNote', player, { text: 'third' })
    await game.app.pool.query(
      `UPDATE player_notes SET created_at = created_at - interval '1 hour' WHERE player_id = $1 AND text = 'third'`,
      [player.playerId],
    )
    const all = (await whole(player)).map(wordsOf)
    expect(all.filter((words) => words.startsWith('NOTE'))).toEqual([
      'NOTE third',
      'NOTE second',
      'NOTE asked for gems',
    ])
    for (const size of [1, 2, 3]) expect((await whole(player, size)).map(wordsOf)).toEqual(all)
  })

  it('has the asked kinds alone', async () => {
    const player = await busy()
    for (const kinds of [['NOTE'], ['CLAIM'], ['LEVEL', 'PURCHASE'], ['LOGIN', 'MAIL'], ['SUPPORT']]) {
      const found = (await whole(player, 1, kinds)).map(wordsOf)
      expect(found).toEqual(ORDER.filter((words) => kinds.includes(words.split(' ')[0] ?? '')))
    }
  })

  it('has actions of support for operators alone, and nothing for players', async () => {
    const player = await busy()
    const ask = (kinds: string) =>
      game.graphql(viewer.key, `{ player(id: "${player.playerId}") { timeline${kinds} { nodes { kind } } } }`)
    const { data } = await ask('')
    expect(data.player.timeline.nodes.map(({ kind }: Entry) => kind)).not.toContain('SUPPORT')
    expect(data.player.timeline.nodes.map(({ kind }: Entry) => kind)).toContain('NOTE')
    expect((await ask('(kinds: [SUPPORT])')).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }])
    expect((await player.graphql('{ me { timeline { nodes { kind } } } }')).errors).toMatchObject([
      { extensions: { code: 'FORBIDDEN' } },
    ])
  })

  it.each(['timeline', 'notes', 'loginLog', 'auditLog'])(
    'does not run a mutation whose caller may not read the %s that it selects',
    async (list) => {
      await game.setAccountPolicy({ clientProfile: 'ALLOW' })
      const player = await busy()
      const rename = `mutation Rename($skip: Boolean = false) {
        updateProfile(input: { nickname: "Changed" }) { player { nickname ...Support @skip(if: $skip) } }
      }
      fragment Support on Player { ${list} { nodes { id } } }`.replace(
        'timeline { nodes { id } }',
        'timeline { nodes { kind } }',
      )
      const refused = await player.graphql(rename)
      const path = `updateProfile.player.${list}`
      expect(refused.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN', details: [{ path }] } }])
      expect((await player.graphql('{ me { nickname } }')).data.me.nickname).not.toBe('Changed')
      const done = await player.graphql(rename, { skip: true })
      expect(done).toMatchObject({ data: { updateProfile: { player: { nickname: 'Changed' } } } })
    },
  )

  it.each(['timeline', 'notes', 'loginLog', 'auditLog'])(
    'leaves the rest of an answer when the %s in it is forbidden',
    async (list) => {
      const { playerId, graphql } = await busy()
      const document = `{ me { playerId ${list} { pageInfo { hasNextPage } } wallet { currency } } }`
      const { data, errors } = await graphql(document)
      expect(data.me).toEqual({ playerId, [list]: null, wallet: expect.any(Array) })
      expect(errors).toMatchObject([{ path: ['me', list], extensions: { code: 'FORBIDDEN' } }])
    },
  )

  it('leaves the rest of the answer of an operator whose role may not read a part of it', async () => {
    const { playerId } = await busy()
    const analyst = await newOperator(game.app.pool, game.projectId, 'analyst')
    const page = 'pageInfo { hasNextPage }'
    const part = `{ playerId auditLog { ${page} } notes { ${page} } }`
    const whole = await game.graphql(
      viewer.key,
      `{ player(id: "${playerId}") ${part} players(environment: "production", first: 1) { nodes ${part} } auditLog { ${page} } }`,
    )
    const shown = { playerId: expect.any(String), auditLog: null, notes: { pageInfo: { hasNextPage: false } } }
    expect(whole.data).toEqual({ player: shown, players: { nodes: [shown] }, auditLog: null })
    const paths = whole.errors?.map(({ path, extensions: { code } }) => `${path?.join('.')} ${code}`).sort()
    expect(paths).toEqual(['auditLog', 'player.auditLog', 'players.nodes.0.auditLog'].map((one) => `${one} FORBIDDEN`))
    const logins = `{ project { name } loginLog(environment: "production") { ${page} } }`
    expect((await game.graphql(analyst.key, logins)).data).toEqual({ project: expect.any(Object), loginLog: null })
  })

  it('refuses cursors of another player, of other kinds and of nobody', async () => {
    const [one, two] = [await busy(), await busy()]
    const { endCursor } = await page(one, 1, null)
    const { endCursor: ofNotes } = await page(one, 1, null, ['NOTE'])
    const forged = Buffer.from(`timeline ${one.playerId}:note=1;DROP`).toString('base64url')
    for (const [player, cursor] of [
      [two, endCursor],
      [one, ofNotes],
      [one, forged],
      [one, 'nonsense'],
    ] as const) {
      const document = `{ player(id: "${player.playerId}") { timeline(after: "${cursor}") { nodes { kind } } } }`
      expect((await game.graphql(operator.key, document)).errors).toMatchObject([
        { extensions: { code: 'INVALID_REQUEST', details: [{ path: 'after' }] } },
      ])
    }
  })

  it('keeps actions of support and drops what is erased when the player is deleted', async () => {
    const player = await busy()
    await act('deletePlayer', player)
    const kinds = (await whole(player)).map(({ kind }) => kind)
    expect(kinds).toContain('SUPPORT')
    for (const gone of ['LOGIN', 'MAIL', 'NOTE']) expect(kinds).not.toContain(gone)
  })
})

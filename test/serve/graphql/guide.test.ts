import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  getNamedType,
  isInterfaceType,
  isObjectType,
  parse,
  type SelectionSetNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { REFUSALS } from '../../../src/base/errors.ts'
import { RawJson } from '../../../src/base/json.ts'
import { demoSeason } from '../../../src/dev/season.ts'
import { addServerXp } from '../../../src/game/battlepass/add-xp.ts'
import { schema } from '../../../src/schema.ts'
import { type Game, type GraphqlAnswer, startGame } from '../../harness/game.ts'
import { without } from '../../harness/needs.ts'
import { type Operator, startOperator } from '../../harness/operator.ts'
import { startPageShell } from '../../harness/page-shell.ts'

const page = readFileSync(new URL('../../../docs/graphql.md', import.meta.url), 'utf8')
const withoutCurl = without('curl')

interface Step {
  readonly name: string
  readonly document: string
  readonly variables: string
  readonly answer: string
}

/** The operations of the page in order, each with its variables and its documented answer. */
const steps: readonly Step[] = [
  ...page.matchAll(/^```graphql\n(\w+ (\w+)[\s\S]*?)\n```\n\n```json\n([\s\S]*?)```\n\n```json\n([\s\S]*?)```$/gm),
].map(([, document = '', name = '', variables = '', answer = '']) => ({ name, document, variables, answer }))

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const place = { scenarioId: 'season-1', nodeId: 'pass' }
const DOCUMENTED_WEBHOOK = 'https://login.studio.example/tierway'

/** A game in the state that the page shows: Ada levels up and claims, Grace buys premium, Linus looks around. */
class World {
  readonly game: Game
  readonly operator: Operator
  private readonly tokens = new Map<string, string>()

  private constructor(game: Game, operator: Operator) {
    this.game = game
    this.operator = operator
  }

  static async start(env: Record<string, string>): Promise<World> {
    const world = new World(await startGame(env), await startOperator())
    const { game, operator } = world
    await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
    await game.publish(place.scenarioId, new RawJson(demoSeason()))
    for (const [name, nickname] of Object.entries({ ada: 'Ada', grace: 'Grace', linus: 'Linus' })) {
      const { body } = await game.login({ player: name }, { nickname, region: 'eu-west', language: 'en' })
      world.tokens.set(name, body.accessToken)
    }
    await world.addXp('ada', 900, 'match')
    await world.addXp('ada', 300, 'quest')
    const runId = await world.runOf('ada')
    await world.call('ada', '/sdk/v1/battlepass/claim', { ...place, runId, level: 2, track: 'free' })
    await world.call('ada', '/sdk/v1/storage/set', { values: { settings: { music: 0.5 } } })
    await world.addXp('grace', 600, 'match')
    await world.call('grace', '/sdk/v1/battlepass/premium', { ...place, runId: await world.runOf('grace') })
    return world
  }

  async call(name: string, path: string, body: Record<string, unknown>) {
    const headers = { authorization: `Bearer ${this.tokens.get(name)}` }
    const answer = await this.game.request('POST', path, { body: JSON.stringify(body), headers })
    if (answer.status >= 300) throw new Error(`${path} answered ${answer.text}`)
    return answer.body
  }

  async runOf(name: string): Promise<string> {
    return (await this.call(name, '/sdk/v1/scenarios/start', { scenarioId: place.scenarioId })).runId
  }

  /** As a server of the game gives it. */
  async addXp(name: string, amount: number, source: string): Promise<void> {
    const ref = { environmentId: this.game.environmentId, playerId: await this.playerId(name) }
    const sent = { ...place, runId: await this.runOf(name), amount: BigInt(amount), source }
    await this.game.app.service.run(addServerXp(ref, sent, {}))
  }

  async playerId(name: string): Promise<string> {
    return (await this.call(name, '/sdk/v1/player/get', {})).playerId
  }

  async stop(): Promise<void> {
    await this.game.stop()
    await this.operator.close()
  }
}

/** Maps the ids and cursors of the page to those of this game, in order of appearance. */
class Names {
  private readonly known = new Map<string, string>()

  learn(documented: string, actual: string): void {
    expect(this.known.get(documented) ?? actual, documented).toBe(actual)
    this.known.set(documented, actual)
  }

  /** A text of the page with the ids and cursors of this game. */
  translate(text: string): string {
    return [...this.known].reduce((result, [documented, actual]) => result.replaceAll(documented, actual), text)
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const MEASURED = new Set(['milliseconds', 'p50', 'p95', 'p99'])
const NAMES = new Set(['cursor', 'startCursor', 'endCursor', 'prefix'])

/** Compares an answer with that of the page, member by member. `"…"` in the page stands for any rest. */
function compare(documented: unknown, actual: unknown, names: Names, at: string): void {
  const key = at.slice(at.lastIndexOf('.') + 1)
  if (Array.isArray(documented)) {
    const isCut = documented.at(-1) === '…'
    const shown = isCut ? documented.slice(0, -1) : documented
    if (!Array.isArray(actual)) throw new Error(`${at} is no list: ${JSON.stringify(actual)}`)
    expect([at, isCut ? actual.length > shown.length : actual.length === shown.length]).toEqual([at, true])
    for (const [index, element] of shown.entries()) compare(element, actual[index], names, `${at}[${index}]`)
  } else if (typeof documented === 'object' && documented !== null) {
    const members = actual as Record<string, unknown>
    expect([at, Object.keys(members ?? {}).sort()]).toEqual([at, Object.keys(documented).sort()])
    for (const [name, value] of Object.entries(documented)) compare(value, members[name], names, `${at}.${name}`)
  } else if (typeof documented === 'string' && typeof actual === 'string') {
    compareTexts(documented, actual, names, at, key)
  } else if (MEASURED.has(key)) {
    expect([at, typeof actual]).toEqual([at, typeof documented])
  } else {
    expect([at, actual]).toEqual([at, documented])
  }
}

function compareTexts(documented: string, actual: string, names: Names, at: string, key: string): void {
  if (documented.endsWith('…')) {
    expect([at, actual.startsWith(documented.slice(0, -1))]).toEqual([at, true])
  } else if (DATE.test(documented)) {
    expect([at, DATE.test(actual)]).toEqual([at, true])
  } else if (NAMES.has(key)) {
    names.learn(documented, actual)
  } else if (documented === DOCUMENTED_WEBHOOK) {
    expect([at, actual]).toEqual([at, names.translate(documented)])
  } else {
    expect([at, actual.replaceAll(UUID, 'id')]).toEqual([at, documented.replaceAll(UUID, 'id')])
    const ids = actual.match(UUID) ?? []
    for (const [index, id] of (documented.match(UUID) ?? []).entries()) names.learn(id, ids[index] ?? '')
  }
}

describe.each(['as text', 'by hash, where only persisted operations run'])(
  'docs/graphql.md, with operations sent %s',
  (way) => {
    const byHash = way !== 'as text'
    let world: World
    let home: string

    beforeAll(async () => {
      home = await mkdtemp(join(tmpdir(), 'tierway-guide-'))
      const file = join(home, 'operations.json')
      await writeFile(
        file,
        JSON.stringify(Object.fromEntries(steps.map(({ document }) => [sha256(document), document]))),
      )
      world = await World.start(byHash ? { PERSISTED_OPERATIONS: file, PERSISTED_OPERATIONS_ONLY: 'true' } : {})
    })
    afterAll(async () => {
      await world?.stop()
      if (home) await rm(home, { recursive: true })
    })

    async function run({ document }: Step, variables: Record<string, unknown>): Promise<GraphqlAnswer> {
      const { baseUrl, platformKey } = world.game
      const sent = byHash ? { documentId: sha256(document), variables } : { query: document, variables }
      const authorization = `Bearer ${platformKey}`
      if (document.startsWith('subscription')) {
        // Grace plays before the subscription is opened: the event is replayed from the cursor.
        await world.addXp('grace', 600, 'match')
        const url = `${baseUrl.replace('http', 'ws')}/graphql`
        const client = createClient({
          url,
          webSocketImpl: WebSocket,
          connectionParams: { authorization },
          retryAttempts: 0,
        })
        const { value } = await client.iterate({ query: '', ...sent }).next()
        await client.dispose()
        return value as GraphqlAnswer
      }
      const response = await fetch(`${baseUrl}/graphql`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(sent),
      })
      return (await response.json()) as GraphqlAnswer
    }

    it('has operations that run with their variables, and have the documented answers', async () => {
      const names = new Names()
      names.learn(DOCUMENTED_WEBHOOK, world.operator.url)
      expect(steps.length).toBe(page.match(/^```graphql$/gm)?.length)
      expect(steps.length).toBeGreaterThan(15)
      for (const step of steps) {
        const { name, variables, answer } = step
        // No earlier answer has the id of the banned player.
        if (name === 'Ban') names.learn(JSON.parse(variables).input.playerId, await world.playerId('linus'))
        const actual = await run(step, JSON.parse(names.translate(variables)))
        compare(JSON.parse(answer), actual, names, name)
      }
    })

    if (byHash) return
    it.skipIf(withoutCurl !== '')(`${withoutCurl}has a first command that runs`, async () => {
      const shell = await startPageShell({ demo: world.game })
      try {
        const printed = await shell.run(/^```sh\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? '')
        expect(JSON.parse(printed)).toEqual({ data: { streamCursor: expect.any(String) } })
      } finally {
        await shell.close()
      }
    })
  },
)

describe('docs/graphql.md', () => {
  it('names codes that exist', () => {
    const codes = new Set(Object.values(REFUSALS).map(([, text]) => text.replaceAll(/[^a-z]+/g, '_').toUpperCase()))
    const table = page.slice(page.indexOf('| `extensions.code`'), page.indexOf('A refusal that'))
    const named = [...table.matchAll(/`([A-Z_]{5,})`/g)].map(([, code]) => code ?? '')
    expect(named.length).toBeGreaterThan(15)
    expect(named.filter((code) => !codes.has(code))).toEqual([])
  })

  it('has operations that select the id of every object that has one', () => {
    for (const { name, document } of steps) {
      const info = new TypeInfo(schema)
      const without: string[] = []
      const ids = {
        SelectionSet({ selections }: SelectionSetNode) {
          const type = getNamedType(info.getType())
          if (!isObjectType(type) && !isInterfaceType(type)) return
          const names = selections.map((selection) => ('name' in selection ? selection.name?.value : undefined))
          if ('id' in type.getFields() && !names.includes('id')) without.push(type.name)
        },
      }
      visit(parse(document), visitWithTypeInfo(info, ids))
      expect([name, without]).toEqual([name, []])
    }
  })

  it('links to headings and files that exist', () => {
    const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    )
    for (const [, target = ''] of page.matchAll(/\]\(#([^)]+)\)/g)) expect(headings).toContain(target)
    for (const [, target = ''] of page.matchAll(/\]\(([^#)][^)]*)\)/g))
      expect(() => readFileSync(new URL(target, new URL('../../../docs/', import.meta.url)))).not.toThrow()
  })
})

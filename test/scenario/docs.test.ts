import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Game, startGame } from '../harness/game.ts'
import { without } from '../harness/needs.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { type PageShell, startPageShell } from '../harness/page-shell.ts'

const page = readFileSync(new URL('../../docs/scenarios.md', import.meta.url), 'utf8')
const withoutCurl = without('curl')

/** The commands of the page in order, each with the JSON answer that the page shows, if any. */
const steps = [...page.matchAll(/^```sh\n([\s\S]*?)^```\n(?:\n```json\n([\s\S]*?)^```$)?/gm)].map(
  ([, commands, answer]) => ({
    commands: commands ?? '',
    answer,
  }),
)

describe('docs/scenarios.md', () => {
  let game: Game
  let operator: Operator
  let shell: PageShell

  beforeAll(async () => {
    game = await startGame()
    operator = await startOperator()
    await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
    shell = await startPageShell({ demo: game })
  })
  afterAll(async () => {
    await game?.stop()
    await operator?.close()
    await shell?.close()
  })

  it.skipIf(withoutCurl !== '')(
    `${withoutCurl}has commands that run as shown and print the answers shown`,
    async () => {
      const mark = '---- next'
      const script = steps.map(({ commands }) => `${commands}\nprintf '\\n${mark}\\n'`).join('\n')
      const printed = await shell.run(script)
      const answers = printed.split(mark)
      expect(steps.filter(({ answer }) => answer !== undefined).length).toBeGreaterThan(5)
      for (const [at, { commands, answer }] of steps.entries()) {
        if (answer !== undefined)
          expect([commands, JSON.parse(answers[at] ?? '')]).toEqual([commands, JSON.parse(answer)])
      }
      // The text of the page says that a second publication keeps the version, and that Ada earns and claims.
      expect(printed).toContain('\n200\n')
      const published = JSON.parse(readFileSync(join(shell.home, 'published.json'), 'utf8'))
      expect(published).toMatchObject({ scenarioId: 'summer', version: 1 })
      const { rows } = await game.app.pool.query(
        `SELECT p.xp, c.level FROM passes p JOIN tier_claims c USING (player_id, scenario_id, node_id)`,
      )
      expect(rows).toEqual([{ xp: '220', level: 2 }])
    },
  )
})

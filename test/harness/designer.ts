import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { ConsoleStage } from './console.ts'
import { until } from './until.ts'

/** A small scenario with custom members and a number beyond 2^53. */
export const SUMMER = `{
  "name": "Summer", "start": "start", "editor": { "zoom": 1.50 },
  "nodes": [
    { "id": "start", "type": "start" },
    { "id": "pass", "type": "battle-pass", "data": {
      "levels": [
        { "level": 1, "xp": 0 },
        { "level": 2, "xp": 100 },
        { "level": 3, "xp": 9007199254740993, "label": "far" }
      ],
      "tiers": [
        { "level": 2, "track": "free", "rewards": [{ "currency": "gold", "amount": 50, "icon": "coin" }] }
      ],
      "premium": { "price": { "currency": "gems", "amount": 950 } }
    } },
    { "id": "first", "type": "reward", "data": { "rewards": [{ "currency": "gold", "amount": 5 }] } },
    { "id": "second", "type": "reward", "data": { "rewards": [{ "currency": "gold", "amount": 6 }] } },
    { "id": "hello", "type": "popup", "data": { "title": "Hello", "size": 1.0 } }
  ],
  "edges": [
    { "from": "start", "handle": "onStart", "to": "pass" },
    { "from": "pass", "handle": "onLevelUp", "to": "first" },
    { "from": "first", "handle": "onComplete", "to": "second" }
  ]
}`

const TEXT = `query Text($scenarioId: String!, $environment: String!) {
  scenario(environment: $environment, scenarioId: $scenarioId) { version definitionText }
}`
const PUBLISH = `mutation Publish($input: PublishScenarioInput!) {
  publishScenario(input: $input) { scenario { version } }
}`

interface Published {
  readonly version: number
  readonly definitionText: string
}

/** The current version, read without the console. */
export async function published(
  { game }: ConsoleStage,
  scenarioId: string,
  environment = 'production',
): Promise<Published | null> {
  const { data } = await game.graphql(game.platformKey, TEXT, { scenarioId, environment })
  return (data as { scenario: Published | null }).scenario
}

/** Publishes without the console, as another designer. */
export async function publish({ game }: ConsoleStage, scenarioId: string, definition: string): Promise<void> {
  const input = { environment: 'production', scenarioId, definition, reason: 'as the others wished' }
  // A busy machine may take longer for a large definition than the service lets a call wait.
  await until('it is published', async () => {
    const { errors } = await game.graphql(game.platformKey, PUBLISH, { input })
    if (errors?.[0]?.extensions.code !== 'UNAVAILABLE') expect(errors).toBeUndefined()
    return errors === undefined
  })
}

export const cell = (page: Page, level: number, column: string) =>
  page.getByLabel(`Level ${level}, ${column}`, { exact: true })

export const view = (page: Page, name: string): Promise<void> =>
  page.getByRole('region', { name: 'Views' }).getByRole('link', { name }).click()

/** Waits until the service has found no fault in the draft. */
export const valid = (page: Page): Promise<void> => page.getByText('No faults: it can be published').waitFor()

/** The text of the draft, as this browser keeps it. Null without a draft. */
export const keptText = (page: Page, scenarioId: string): Promise<string | null> =>
  page.evaluate(`(() => {
    const key = Object.keys(localStorage).find((one) => one.endsWith('/production/${scenarioId}'))
    return key === undefined ? null : JSON.parse(localStorage.getItem(key)).text
  })()`)

import { useEffect, useState } from 'react'
import { type Client, useClient } from 'urql'
import { seasonAt } from '../../../src/game/definition/season.ts'
import { definitionQuery } from '../scenario/operations.ts'
import { type PassView, readDefinition, seasonDatesOf } from '../scenario/read-definition.ts'
import { liveScenariosQuery } from './operations.ts'

export interface LivePass {
  readonly scenarioId: string
  readonly nodeId: string
}

interface Published {
  readonly scenarioId: string
  readonly publishedAt: string
}

/** Figures of more passes would be many calls every few seconds. */
export const MAX_LIVE_PASSES = 10
const EVERY_MS = 60_000

/**
 * The passes whose figures the page shows: those of the chosen scenario, else those of all running seasons, the newest
 * first. Read again each minute, as seasons begin and end. Undefined until they are known.
 */
export function useLivePasses(environment: string, chosen: string | null): readonly LivePass[] | undefined {
  const client = useClient()
  const [found, setFound] = useState<{ readonly key: string; readonly passes: readonly LivePass[] }>()
  const key = JSON.stringify([environment, chosen])
  useEffect(() => {
    let isGone = false
    const known = new Map<string, readonly PassView[]>()
    async function read(): Promise<void> {
      const passes = await readPasses(client, { environment, chosen, known })
      if (isGone || passes === undefined) return
      setFound((before) => (JSON.stringify(before) === JSON.stringify({ key, passes }) ? before : { key, passes }))
    }
    void read()
    const timer = setInterval(() => void read(), EVERY_MS)
    return () => {
      isGone = true
      clearInterval(timer)
    }
  }, [client, key, environment, chosen])
  return found?.key === key ? found.passes : undefined
}

interface Wanted {
  readonly environment: string
  readonly chosen: string | null
  /** Passes by the scenario and the time of its publication. */
  readonly known: Map<string, readonly PassView[]>
}

async function readPasses(client: Client, wanted: Wanted): Promise<readonly LivePass[] | undefined> {
  const { environment, chosen, known } = wanted
  const listed = await client.query(liveScenariosQuery, { environment }, { requestPolicy: 'network-only' }).toPromise()
  const scenarios = listed.data?.scenarios.nodes
  if (!scenarios) return undefined
  const asked = scenarios.filter(({ scenarioId }) => chosen === null || scenarioId === chosen)
  await Promise.all(
    asked.map(async (one) => {
      const { scenarioId } = one
      if (known.has(keyOf(one))) return
      const variables = { environment, scenarioId }
      const { data } = await client.query(definitionQuery, variables, { requestPolicy: 'network-only' }).toPromise()
      if (data?.scenario) known.set(keyOf(one), readDefinition(data.scenario.definition).passes)
    }),
  )
  const all = [...asked]
    .sort((a, b) => b.publishedAt.localeCompare(a.publishedAt))
    .flatMap((one) => (known.get(keyOf(one)) ?? []).map((pass) => ({ scenarioId: one.scenarioId, pass })))
  return all
    .filter(({ pass }) => chosen !== null || isRunning(pass))
    .slice(0, MAX_LIVE_PASSES)
    .map(({ scenarioId, pass }) => ({ scenarioId, nodeId: pass.id }))
}

const keyOf = ({ scenarioId, publishedAt }: Published): string => JSON.stringify([scenarioId, publishedAt])

function isRunning(pass: PassView): boolean {
  const { phase } = seasonAt(seasonDatesOf(pass), new Date())
  return phase === 'running' || phase === 'ending'
}

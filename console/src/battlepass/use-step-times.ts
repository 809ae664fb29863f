import { useState } from 'react'
import { useClient } from 'urql'
import { replayQuery, scenarioTextQuery } from '../designer/operations.ts'
import { textOf } from '../ui/errors.ts'

export interface StepTimes {
  /** The median of the days from each level to the next one, by the level. Undefined until they are read. */
  readonly days: ReadonlyMap<number, number | null> | undefined
  readonly fault: string | undefined
  readonly isReading: boolean
  readonly read: () => Promise<void>
}

interface Place {
  readonly scenarioId: string
  readonly nodeId: string
}

/** The times of the steps of a pass, from the xp ledger of some of its players: its own season, replayed. */
export function useStepTimes(environment: string, { scenarioId, nodeId }: Place): StepTimes {
  const client = useClient()
  const [days, setDays] = useState<StepTimes['days']>()
  const [fault, setFault] = useState<string>()
  const [isReading, setReading] = useState(false)

  async function replay(): Promise<void> {
    const current = await client.query(scenarioTextQuery, { environment, scenarioId }).toPromise()
    const definition = current.data?.scenario?.definitionText
    if (definition === undefined) return setFault(current.error && textOf(current.error))
    const input = { environment, definition, nodeId, ofScenarioId: scenarioId, ofNodeId: nodeId }
    const { data, error } = await client.query(replayQuery, { input }, { requestPolicy: 'network-only' }).toPromise()
    setFault(error && textOf(error))
    if (!data) return
    const { levels } = data.replaySeason
    setDays(new Map(levels.map(({ level }, at) => [level, levels[at + 1]?.medianStepDays ?? null])))
  }

  return {
    days,
    fault,
    isReading,
    async read() {
      setReading(true)
      await replay()
      setReading(false)
    },
  }
}

import type { Fields } from '../fields.ts'
import type { CrossHandle } from './cross-handle.ts'
import type { RunInput } from './session.ts'

export function readScenarioId(fields: Fields): string {
  return fields.text('scenarioId', { max: 128 })
}

export function readRunId(fields: Fields): string {
  return fields.text('runId', { max: 128 })
}

export function readRunInput(fields: Fields): RunInput {
  return { scenarioId: readScenarioId(fields), runId: readRunId(fields) }
}

export function readCrossHandle(fields: Fields): CrossHandle {
  return {
    ...readRunInput(fields),
    nodeId: fields.text('nodeId', { max: 128 }),
    handle: fields.text('handle', { max: 64 }),
  }
}

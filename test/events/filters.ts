import type { EventFilter } from '../../src/events/filter.ts'

export const EVERY_EVENT: EventFilter = {
  playerId: null,
  scenarioId: null,
  nodeId: null,
  types: null,
  handles: null,
  byClient: null,
}

import type { StreamEvent } from './catalogue.ts'

export interface EventFilter {
  readonly playerId: string | null
  readonly scenarioId: string | null
  readonly nodeId: string | null
  readonly types: ReadonlySet<string> | null
  readonly handles: ReadonlySet<string> | null
  /** Crossings by clients, or all other events. */
  readonly byClient: boolean | null
}

export function matches(
  { playerId, scenarioId, nodeId, types, handles, byClient }: EventFilter,
  event: StreamEvent,
): boolean {
  return (
    (playerId === null || event.playerId === playerId) &&
    (scenarioId === null || event.scenarioId === scenarioId) &&
    (nodeId === null || event.nodeId === nodeId) &&
    (types === null || types.has(event.type)) &&
    (handles === null || (event.handle !== null && handles.has(event.handle))) &&
    (byClient === null || event.byClient === byClient)
  )
}

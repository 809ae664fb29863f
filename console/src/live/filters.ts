import type { EventFilter } from '../events/feed.ts'

type Types = NonNullable<EventFilter['types']>

/** A choice of events to show: `type` and `handle` are parameters of the address. */
interface Choice {
  readonly name: string
  readonly type?: Types[number] | 'SEASON'
  readonly handle?: string
}

const SEASON_TYPES: Types = ['SEASON_ANNOUNCED', 'SEASON_STARTED', 'SEASON_ENDING', 'SEASON_ENDED', 'SEASON_CLOSED']

const CHOICES: Readonly<Record<string, Choice>> = {
  all: { name: 'all events' },
  levelUps: { name: 'level-ups', handle: 'onLevelUp' },
  premium: { name: 'premium bought', handle: 'onPremiumPurchase' },
  topLevels: { name: 'top levels reached', handle: 'onMaxLevel' },
  completions: { name: 'completions', handle: 'onComplete' },
  starts: { name: 'runs started', handle: 'onStart' },
  crossings: { name: 'everything in scenarios', type: 'CROSSING' },
  seasons: { name: 'phases of seasons', type: 'SEASON' },
  newPlayers: { name: 'new players', type: 'PLAYER_CREATED' },
  cancelledRuns: { name: 'cancelled runs', type: 'RUN_CANCELLED' },
  handles: { name: 'other handles …' },
}

export const CHOICE_NAMES = Object.entries(CHOICES).map(([choice, { name }]) => [choice, name] as const)

/** The choice that an address means. Handles that are no choice of their own can be typed. */
export function choiceOf(search: URLSearchParams): string {
  const [type, handle] = [search.get('type'), search.get('handle')]
  if (type === null && handle === null) return 'all'
  const found = Object.entries(CHOICES).find(
    ([choice, one]) => choice !== 'all' && (one.type ?? null) === type && (one.handle ?? null) === handle,
  )
  return found?.[0] ?? (handle === null ? 'all' : 'handles')
}

export function parametersOf(choice: string): { readonly type: string | null; readonly handle: string | null } {
  const { type = null, handle = choice === 'handles' ? '' : null } = CHOICES[choice] ?? {}
  return { type, handle }
}

export function filterOf(environment: string, search: URLSearchParams): EventFilter {
  const type = CHOICES[choiceOf(search)]?.type
  const handles = (search.get('handle') ?? '')
    .split(',')
    .map((handle) => handle.trim())
    .filter(Boolean)
  return {
    environment,
    playerId: search.get('player') || undefined,
    scenarioId: search.get('scenario') || undefined,
    handles: handles.length > 0 ? handles : undefined,
    types: type === 'SEASON' ? SEASON_TYPES : type && [type],
  }
}

import { readerOf } from './answers.ts'
import type { PlayerCalls } from './calls.ts'
import { type PassView, SCENARIO_VIEW, type ScenarioView } from './contract.ts'
import { printExact } from './json.ts'
import type { CallOptions } from './transport.ts'

export interface ViewOptions extends CallOptions {
  /** The language of texts, such as `pt-BR`. Default: that of the player's profile. */
  readonly language?: string
}

/** A view that was read, with its tag and the time at which it came. */
interface Kept {
  readonly view: ScenarioView
  readonly tag: string
  readonly readAt: number
}

const readView = readerOf(SCENARIO_VIEW)

/** Reads views of scenarios. The last one of each is kept, so that the service sends only those that have changed. */
export class Views {
  /** By scenario and language. A tag names what a view says, so it does not matter for which player it was read. */
  readonly #kept = new Map<string, Kept>()
  readonly #calls: PlayerCalls

  constructor(calls: PlayerCalls) {
    this.#calls = calls
  }

  async read(scenarioId: string, { language, ...options }: ViewOptions = {}): Promise<ScenarioView> {
    const key = JSON.stringify([scenarioId, language])
    const kept = this.#kept.get(key)
    const headers: Record<string, string> = kept ? { 'if-none-match': kept.tag } : {}
    const body = printExact({ scenarioId, language })
    return this.#calls.send('/sdk/v1/scenarios/view', { ...options, body, headers }, (text, status, answered) => {
      if (status === 304 && kept) return later(kept)
      const view = readView(text, status)
      const tag = answered.get('etag')
      // A page of another origin sees the tag only where the service exposes it.
      if (tag !== null) this.#kept.set(key, { view, tag, readAt: performance.now() })
      return view
    })
  }
}

/** A kept view as of now: only the seconds that are left have changed. */
function later({ view, readAt }: Kept): ScenarioView {
  const passed = Math.floor((performance.now() - readAt) / 1_000)
  const left = (seconds: number) => Math.max(seconds - passed, 0)
  const stateOf = (state: PassView['state']): PassView['state'] => ({
    ...state,
    secondsToNextPhase: state.secondsToNextPhase === null ? null : left(state.secondsToNextPhase),
    boosts: state.boosts.map((boost) => ({ ...boost, secondsLeft: left(boost.secondsLeft) })),
  })
  return { ...view, passes: view.passes.map((pass) => ({ ...pass, state: stateOf(pass.state) })) }
}

import type { Json } from '../base/json.ts'

/** The outcome of an operator's change, with what the audit log says of it. */
export interface Changed<Outcome> {
  readonly outcome: Outcome
  /** What was changed, such as the id of a boost. */
  readonly target: string
  /** Default: the environment that the request names, if it names one. */
  readonly environmentId?: string
  readonly before: Json
  readonly after: Json
}

/** What an operator's call did. Without a target it changed nothing, and has no entry in the audit log. */
export type Change<Outcome> = Changed<Outcome> | { readonly outcome: Outcome; readonly target?: undefined }

import type { TypedDocumentNode } from 'urql'
import type { ResultOf } from '../../graphql.ts'
import type { PassView } from '../../scenario/read-definition.ts'
import type { playerQuery } from '../operations.ts'
import type { PassState } from './forecast.ts'

export type PlayerData = NonNullable<ResultOf<typeof playerQuery>['player']>

/** A field of an action's dialog. Its values are texts; those of a check are `true` or empty. */
export interface ActionField {
  readonly name: string
  readonly label: string
  readonly kind: 'text' | 'amount' | 'check' | 'choice' | 'json'
  readonly hint?: string
  readonly suggestions?: readonly string[]
  readonly options?: readonly (readonly [value: string, text: string])[]
  readonly isOptional?: boolean
}

export type Values = Readonly<Record<string, string>>

/** What every action of support answers. */
export interface SupportResult {
  readonly result: {
    readonly error: string | null
    readonly message: string | null
    readonly changed?: boolean
    /** What the player's own call would have answered. Its refusal is one of the action, too. */
    readonly result?: {
      readonly error?: string | null
      readonly alreadyClaimed?: boolean
      readonly level?: number
    } | null
    readonly auditEntry: { readonly id: string } | null
  }
}

/** One action of support: what it asks, what it will do, what it sends. */
export interface SupportAction {
  readonly title: string
  readonly fields: readonly ActionField[]
  readonly initial?: Values
  /** What pressing the button will do, with figures where they are known. */
  readonly effect: (values: Values) => string
  readonly confirm: string
  readonly tone?: 'danger'
  /** The nickname or id that must be typed before an action that cannot be undone. */
  readonly typed?: string
  readonly mutation: TypedDocumentNode<SupportResult, { readonly input: never }>
  readonly input: (values: Values) => object
  /** Repeated with the same key, the action takes effect once. */
  readonly isKeyed?: boolean
  readonly done: (values: Values, result: SupportResult['result']) => string
}

/** What the pages know of a player's pass, begun or not. */
export interface PassRef extends PassState {
  readonly scenarioId: string
  readonly nodeId: string
  readonly view: PassView | undefined
  /** Xp and tiers are granted in an active run. Undefined until it is known. */
  readonly hasRun: boolean | undefined
}

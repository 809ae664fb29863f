import type { TypedDocumentNode } from 'urql'
import type { ResultOf } from '../../graphql.ts'
import type { PassView } from '../../scenario/read-definition.ts'
import type { Option } from '../../ui/option.ts'
import type { playerQuery } from '../operations.ts'
import type { PassState } from './forecast.ts'

export type PlayerData = NonNullable<ResultOf<typeof playerQuery>['player']>

/** A field of an action's dialog. Its values are texts; those of a check are `true` or empty. */
export interface ActionField {
  readonly name: string
  readonly label: string
  readonly kind: 'text' | 'amount' | 'check' | 'choice' | 'json'
  readonly hint?: string
  readonly suggestions?: readonly string[] | undefined
  readonly options?: readonly Option[]
  readonly isOptional?: boolean
}

export type Values = Readonly<Record<string, string>>

export interface SupportResult {
  readonly result: {
    readonly error: string | null
    readonly message: string | null
    readonly changed?: boolean
    /** Similar names of currencies, the most similar first. */
    readonly nearest?: readonly string[]
    /** The answer of the player's own call. */
    readonly result?: {
      readonly alreadyClaimed?: boolean
      readonly level?: number
    } | null
    readonly auditEntry: { readonly id: string } | null
  } | null
}

/** One action of support: its fields, its effect and its request. */
export interface SupportAction {
  readonly title: string
  /** Default: none. */
  readonly fields?: readonly ActionField[]
  readonly initial?: Values
  /** The effect of pressing the button, with figures if they are known. */
  readonly effect: (values: Values) => string
  readonly confirm: string
  readonly tone?: 'danger'
  /** The nickname or id that must be typed before an action that cannot be undone. */
  readonly typed?: string
  /** The entry of the audit log that it undoes. */
  readonly undoes?: string
  /** The reason to begin with. */
  readonly reason?: string
  readonly mutation: TypedDocumentNode<SupportResult, { readonly input: never }>
  /** The input of the mutation besides the player, the reason and the key. Default: nothing. */
  readonly input?: (values: Values) => object
  /** A refusal in the words of the dialog, by its code. Default: the message of the service. */
  readonly refusals?: Readonly<Record<string, (values: Values, result: NonNullable<SupportResult['result']>) => string>>
  readonly done: (values: Values, result: NonNullable<SupportResult['result']>) => string
}

/** A player's pass, begun or not, as far as the pages know it. */
export interface PassRef extends PassState {
  /** The game's time, in milliseconds. */
  readonly now: number
  readonly scenarioId: string
  readonly nodeId: string
  readonly view: PassView | undefined
  /** Whether the player has an active run, which grants of xp and tiers need. Undefined until it is known. */
  readonly hasRun: boolean | undefined
}

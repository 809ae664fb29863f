import type { Client, CombinedError } from 'urql'
import { ActionDialog, type ActionDialogProps, type ActionResult } from './action-dialog.tsx'
import { type AnswerOf, type Call, useSend } from './send.ts'

interface Change<Data, Input> extends Omit<Call<Data, Input>, 'input' | 'client'> {
  /** Undefined while the fields cannot be sent. */
  readonly input: Call<Data, Input>['input'] | undefined
  /** Another client than that of the session, or why there is none. */
  readonly via?: () => Promise<Client | ActionResult>
  /** What has happened, in words. A function may say more, or that nothing was done. */
  readonly done: string | ((answer: AnswerOf<Data>) => ActionResult)
  /** What the dialog makes of an error. Undefined shows the error as it is. */
  readonly refused?: (error: CombinedError) => ActionResult | undefined
}

/** A dialog that sends one mutation with a reason. */
export function ChangeDialog<Data extends object, Input>(props: Omit<ActionDialogProps, 'run'> & Change<Data, Input>) {
  const { mutation, input, isOnce, context, via, done, refused, ...dialog } = props
  const send = useSend()

  async function run(reason: string): Promise<ActionResult> {
    if (input === undefined) return {}
    const client = await via?.()
    if (client && !('mutation' in client)) return client
    const { answer, ...failed } = await send({ mutation, input, isOnce, context, client }, reason)
    if (!answer) return (failed.error && refused?.(failed.error)) ?? failed
    const { auditEntry } = answer as ActionResult
    return typeof done === 'string' ? { done, auditEntry } : { auditEntry, ...done(answer) }
  }
  return <ActionDialog {...dialog} disabled={dialog.disabled || input === undefined} run={run} />
}

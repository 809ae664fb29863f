import { useState } from 'react'
import { useQuery } from 'urql'
import { useEnvironment } from '../shell/environment.tsx'
import { RoleButton } from '../ui/button.tsx'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { Fields, useFields } from '../ui/fields.tsx'
import { Panel } from '../ui/page.tsx'
import { Answer } from '../ui/states.tsx'
import { type Policy, policyText } from './gift.ts'
import { policyQuery, setPolicyMutation } from './operations.ts'

/** Above which size a grant needs a second person. */
export function ApprovalPolicy() {
  const environment = useEnvironment()
  const [result, read] = useQuery({ query: policyQuery, variables: { environment } })
  const [isOpen, setOpen] = useState(false)
  const policy = result.data?.grantPolicy
  return (
    <Panel
      title="Approval"
      actions={
        <RoleButton needs="manage" label="Change the approval" onClick={() => setOpen(true)} disabled={!policy}>
          Change
        </RoleButton>
      }
    >
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {({ grantPolicy }) => <p>{policyText(grantPolicy)}</p>}
      </Answer>
      {isOpen && policy && <SetPolicy before={policy} onClose={() => setOpen(false)} />}
    </Panel>
  )
}

const isLimit = (text: string): boolean => /^\d{0,18}$/.test(text)

function SetPolicy({ before, onClose }: { before: Policy; onClose: () => void }) {
  const environment = useEnvironment()
  const fields = useFields({
    approvalAbovePlayers: String(before.approvalAbovePlayers ?? ''),
    approvalAboveAmount: before.approvalAboveAmount ?? '',
  })
  const { approvalAbovePlayers: players, approvalAboveAmount: amount } = fields.values
  const isComplete = isLimit(players) && isLimit(amount)
  const after = {
    approvalAbovePlayers: players === '' ? null : Number(players),
    approvalAboveAmount: amount === '' ? null : amount,
  }
  return (
    <ChangeDialog
      title={`Approval of grants in ${environment}`}
      effect={
        isComplete
          ? `${policyText(after)} Grants whose players are looked up already stay as they are.`
          : 'Enter whole numbers.'
      }
      confirm="Save"
      disabled={!isComplete}
      mutation={setPolicyMutation}
      input={{ environment, ...after }}
      done={({ policy }) => ({ done: policyText(policy) })}
      onClose={onClose}
    >
      <Fields
        of={fields}
        list={[
          {
            name: 'approvalAbovePlayers',
            label: 'More players than',
            hint: 'Empty: their number does not count. 0: each grant waits.',
            inputMode: 'numeric',
          },
          {
            name: 'approvalAboveAmount',
            label: 'More in all than',
            hint: 'Of one currency, one item or xp. Empty: it does not count.',
            inputMode: 'numeric',
          },
        ]}
      />
    </ChangeDialog>
  )
}

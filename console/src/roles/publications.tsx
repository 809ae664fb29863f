import { useState } from 'react'
import { useQuery } from 'urql'
import { publishPolicyQuery, setPublishPolicyMutation } from '../designer/shared/operations.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { RoleButton } from '../ui/button.tsx'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { Panel } from '../ui/page.tsx'
import { Answer } from '../ui/states.tsx'

const WORDS = {
  true: 'A scenario is published only when a second person has approved its text as a shared draft.',
  false: 'Designers publish without the approval of a second person.',
} as const

/** Whether publications of the environment need a second person. */
export function Publications() {
  const environment = useEnvironment()
  const [result, read] = useQuery({ query: publishPolicyQuery, requestPolicy: 'cache-and-network' })
  const [isOpen, setOpen] = useState(false)
  const policy = result.data?.project.environments.find(({ name }) => name === environment)?.publishPolicy
  return (
    <Panel
      title={`Publications in ${environment}`}
      about="A text that was a version before can come back without approval. Tools that publish over REST need it, too."
      actions={
        <RoleButton
          needs="manage"
          label="Change the approval of publications"
          onClick={() => setOpen(true)}
          disabled={!policy}
        >
          Change
        </RoleButton>
      }
    >
      <Answer of={result} onRetry={() => read({ requestPolicy: 'network-only' })}>
        {() => <p>{policy && WORDS[`${policy.requiresApproval}`]}</p>}
      </Answer>
      {isOpen && policy && (
        <SetPolicy environment={environment} before={policy.requiresApproval} onClose={() => setOpen(false)} />
      )}
    </Panel>
  )
}

function SetPolicy(props: { readonly environment: string; readonly before: boolean; readonly onClose: () => void }) {
  const { environment, onClose } = props
  const [after] = useState(!props.before)
  return (
    <ChangeDialog
      title={after ? `Demand approval in ${environment}` : `Publish without approval in ${environment}`}
      effect={`${WORDS[`${after}`]} ${after ? 'That is so for every role, and for tools that publish over REST. What is planned already stays planned, and versions of the past can come back.' : ''}`}
      confirm="Save"
      mutation={setPublishPolicyMutation}
      input={{ environment, requiresApproval: after }}
      done={WORDS[`${after}`]}
      onClose={onClose}
    />
  )
}

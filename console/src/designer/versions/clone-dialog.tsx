import { useQuery } from 'urql'
import { projectQuery } from '../../shell/operations.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { codeOf } from '../../ui/errors.ts'
import { Fields, useFields } from '../../ui/fields.tsx'
import { Failed } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { cloneMutation, scenarioHeadQuery } from '../operations.ts'
import { PreviewBody } from '../review/preview-panel.tsx'
import { usePreview } from '../review/use-preview.ts'
import { useVersion } from './use-version.ts'

/** Publishes the current version elsewhere: in another environment, or under another id. */
export function CloneDialog(props: {
  readonly environment: string
  readonly scenarioId: string
  readonly version: number
  readonly onClose: () => void
}) {
  const { environment, scenarioId, version, onClose } = props
  const [project] = useQuery({ query: projectQuery })
  const environments = project.data?.project.environments.map(({ name }) => name) ?? [environment]
  const fields = useFields({
    toEnvironment: environments.find((one) => one !== environment) ?? environment,
    toScenarioId: scenarioId,
  })
  const to = fields.values
  const { toEnvironment, toScenarioId } = to
  const [target, readTarget] = useQuery({
    query: scenarioHeadQuery,
    variables: { environment: toEnvironment, scenarioId: toScenarioId },
    pause: toScenarioId === '',
    requestPolicy: 'network-only',
  })
  const isSame = toEnvironment === environment && toScenarioId === scenarioId
  const there = target.fetching || target.stale ? undefined : target.data?.scenario
  const isKnown = there !== undefined && !target.error
  const source = useVersion(environment, scenarioId, version)
  const preview = usePreview(toEnvironment, toScenarioId, there && !isSame ? source.version?.text : undefined)

  return (
    <ChangeDialog
      title={`Clone ${scenarioId}`}
      confirm="Clone"
      disabled={!isKnown || isSame || (there !== null && preview.preview?.valid !== true)}
      effect={
        isSame ? (
          <p>Choose another environment or another id.</p>
        ) : !isKnown ? (
          target.error ? (
            <Failed error={target.error} />
          ) : (
            <p className="muted">Reading the target…</p>
          )
        ) : there === null ? (
          <p>
            Publishes version {version} as version 1 of {toScenarioId} in {toEnvironment}. There is no such scenario
            there yet.
          </p>
        ) : (
          <>
            <p>
              Publishes version {version} as version {there.version + 1} of {toScenarioId} in {toEnvironment}, where
              version {there.version} of <Time at={there.publishedAt} parts="minute" /> is current.
            </p>
            <PreviewBody of={preview} />
          </>
        )
      }
      mutation={cloneMutation}
      input={{ environment, scenarioId, version, ...to, expectedVersion: there?.version ?? 0 }}
      done={({ scenario, auditEntry }) => ({
        done: auditEntry
          ? `Version ${scenario.version} of ${scenario.scenarioId} is published in ${scenario.environment}.`
          : `${scenario.scenarioId} in ${scenario.environment} has this text already. Nothing was changed.`,
      })}
      refused={(error) => {
        if (codeOf(error) !== 'VERSION_CONFLICT') return undefined
        readTarget({ requestPolicy: 'network-only' })
        return { refusal: 'Nothing was published: the target got another version meanwhile. It is shown below now.' }
      }}
      onClose={onClose}
    >
      <Fields
        of={fields}
        list={[
          { kind: 'choice', name: 'toEnvironment', label: 'To the environment', options: environments },
          { name: 'toScenarioId', label: 'As', hint: 'The id of the scenario.', required: true },
        ]}
      />
    </ChangeDialog>
  )
}

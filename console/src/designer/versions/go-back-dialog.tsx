import { useMemo } from 'react'
import { useClient } from 'urql'
import { useOperator } from '../../session/permission.tsx'
import { ActionDialog, type ActionResult } from '../../ui/action-dialog.tsx'
import { codeOf } from '../../ui/errors.ts'
import { Loading } from '../../ui/states.tsx'
import { findDraft } from '../draft/draft.ts'
import { draftKey } from '../draft/kept-drafts.ts'
import { describeChanges } from '../model/words.ts'
import { cloneMutation } from '../operations.ts'
import { ChangeList } from '../review/change-list.tsx'
import { PreviewBody } from '../review/preview-panel.tsx'
import { usePreview } from '../review/use-preview.ts'
import { useVersion } from './use-version.ts'

export function GoBackDialog(props: {
  readonly environment: string
  readonly scenarioId: string
  readonly version: number
  readonly current: number
  readonly onClose: () => void
}) {
  const { environment, scenarioId, version, current, onClose } = props
  const client = useClient()
  const { projectId } = useOperator()
  const old = useVersion(environment, scenarioId, version)
  const now = useVersion(environment, scenarioId, current)
  const preview = usePreview(environment, scenarioId, old.version?.text)
  const changes = useMemo(
    () => (old.version && now.version ? describeChanges(now.version.text, old.version.text) : undefined),
    [old.version, now.version],
  )

  async function run(reason: string): Promise<ActionResult> {
    const input = {
      environment,
      scenarioId,
      version,
      toEnvironment: environment,
      toScenarioId: scenarioId,
      expectedVersion: current,
      reason,
    }
    const { data, error } = await client.mutation(cloneMutation, { input }).toPromise()
    if (codeOf(error) === 'VERSION_CONFLICT')
      return { refusal: 'Nothing was published: another version was published meanwhile. Look at it first.' }
    if (!data?.cloneScenario) return { error }
    const { scenario, auditEntry } = data.cloneScenario
    const draft = findDraft(draftKey(projectId, environment, scenarioId))
    if (draft && !draft.now().isChanged)
      draft.rebase({ version: scenario.version, text: scenario.definitionText }, scenario.definitionText)
    return {
      done: auditEntry
        ? `Version ${scenario.version} is published, with the text of version ${version}.`
        : `The current version has this text already. Nothing was changed.`,
      auditEntry,
    }
  }

  return (
    <ActionDialog
      title={`Go back to version ${version}`}
      confirm={`Publish version ${current + 1}`}
      disabled={preview.preview?.valid !== true || changes === undefined}
      effect={
        <p>
          Publishes the text of version {version} as version {current + 1} of {scenarioId} in {environment}. It applies
          to all players from their next call on. Version {current} stays in the list.
        </p>
      }
      run={run}
      onClose={onClose}
    >
      <h3>What changes</h3>
      {changes ? <ChangeList changes={changes} /> : <Loading />}
      <h3>Effect on players</h3>
      <PreviewBody of={preview} />
    </ActionDialog>
  )
}

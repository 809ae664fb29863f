import { useMemo } from 'react'
import type { ResultOf } from '../../graphql.ts'
import { useOperator } from '../../session/permission.tsx'
import type { ActionResult } from '../../ui/action-dialog.tsx'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { codeOf } from '../../ui/errors.ts'
import type { AnswerOf } from '../../ui/send.ts'
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
  const { projectId } = useOperator()
  const old = useVersion(environment, scenarioId, version)
  const now = useVersion(environment, scenarioId, current)
  const preview = usePreview(environment, scenarioId, old.version?.text)
  const changes = useMemo(
    () => (old.version && now.version ? describeChanges(now.version.text, old.version.text) : undefined),
    [old.version, now.version],
  )

  function published({ scenario, auditEntry }: AnswerOf<ResultOf<typeof cloneMutation>>): ActionResult {
    const draft = findDraft(draftKey(projectId, environment, scenarioId))
    if (draft && !draft.now().isChanged)
      draft.rebase({ version: scenario.version, text: scenario.definitionText }, scenario.definitionText)
    return {
      done: auditEntry
        ? `Version ${scenario.version} is published, with the text of version ${version}.`
        : `The current version has this text already. Nothing was changed.`,
    }
  }

  return (
    <ChangeDialog
      title={`Go back to version ${version}`}
      confirm={`Publish version ${current + 1}`}
      disabled={preview.preview?.valid !== true || changes === undefined}
      effect={
        <p>
          Publishes the text of version {version} as version {current + 1} of {scenarioId} in {environment}. It applies
          to all players from their next call on. Version {current} stays in the list.
        </p>
      }
      mutation={cloneMutation}
      input={{
        environment,
        scenarioId,
        version,
        toEnvironment: environment,
        toScenarioId: scenarioId,
        expectedVersion: current,
      }}
      done={published}
      refused={(error) =>
        codeOf(error) === 'VERSION_CONFLICT'
          ? { refusal: 'Nothing was published: another version was published meanwhile. Look at it first.' }
          : undefined
      }
      onClose={onClose}
    >
      <h3>What changes</h3>
      {changes ? <ChangeList changes={changes} /> : <Loading />}
      <h3>Effect on players</h3>
      <PreviewBody of={preview} />
    </ChangeDialog>
  )
}

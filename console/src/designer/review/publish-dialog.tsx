import { useState } from 'react'
import { useClient } from 'urql'
import { ActionDialog, type ActionResult } from '../../ui/action-dialog.tsx'
import { codeOf } from '../../ui/errors.ts'
import { TextField } from '../../ui/form.tsx'
import { Time } from '../../ui/time.tsx'
import type { Draft } from '../draft/draft.ts'
import { momentText } from '../graph/moments.ts'
import { planMutation, publishMutation } from '../operations.ts'
import { Approval } from '../shared/approval.tsx'
import type { SharedDraft } from '../shared/exchange.ts'
import { PreviewSentences } from './preview-panel.tsx'
import type { Preview } from './use-preview.ts'

const UNAPPROVED =
  'Nothing was published: this environment demands that a second person approves the text. Share the draft, and ask another designer to approve it.'

/**
 * Publishes the draft, if its base is still the current version. A repeated press is safe: the service does not publish
 * the current text again. With a time, the publication is planned.
 */
export function PublishDialog(props: {
  readonly draft: Draft
  readonly environment: string
  readonly scenarioId: string
  readonly preview: Preview
  readonly changes: number
  /** Null for a draft of one person. */
  readonly shared: SharedDraft | null
  readonly onConflict: () => void
  readonly onClose: () => void
}) {
  const { draft, environment, scenarioId, preview, changes, shared, onConflict, onClose } = props
  const client = useClient()
  const { base } = draft.now()
  const [at, setAt] = useState('')

  async function plan(reason: string): Promise<ActionResult> {
    const when = { publishAt: momentText(at), expectedVersion: base.version }
    const input = { environment, scenarioId, definition: draft.text, ...when, reason }
    const { data, error } = await client.mutation(planMutation, { input }).toPromise()
    if (codeOf(error) === 'APPROVAL_REQUIRED') return { refusal: UNAPPROVED }
    if (!data?.schedulePublication) return { error }
    const { publication, auditEntry } = data.schedulePublication
    return {
      done: (
        <>
          The draft is published <Time at={publication.publishAt} parts="minute" />, unless another version comes
          before. The versions list it until then.
        </>
      ),
      auditEntry,
    }
  }

  async function run(reason: string): Promise<ActionResult> {
    const { text } = draft
    const input = { environment, scenarioId, definition: text, expectedVersion: base.version, reason }
    const { data, error } = await client.mutation(publishMutation, { input }).toPromise()
    if (codeOf(error) === 'VERSION_CONFLICT') {
      onConflict()
      return {
        refusal:
          'Nothing was published: another version was published meanwhile. Close this dialog. The page shows who published what, and can carry your changes over.',
      }
    }
    if (codeOf(error) === 'APPROVAL_REQUIRED') return { refusal: UNAPPROVED }
    if (!data?.publishScenario) return { error }
    const { scenario, auditEntry } = data.publishScenario
    draft.link(null)
    draft.rebase({ version: scenario.version, text: scenario.definitionText }, scenario.definitionText)
    return {
      done: auditEntry
        ? `Version ${scenario.version} of ${scenarioId} is published in ${environment}. It applies from the next call on.`
        : `This text is version ${scenario.version} already. Nothing was changed.`,
      auditEntry,
    }
  }

  return (
    <ActionDialog
      title={`Publish ${scenarioId} in ${environment}`}
      confirm={at === '' ? `Publish version ${base.version + 1}` : 'Plan the publication'}
      effect={
        <>
          <p>
            {base.version === 0
              ? 'This is the first version.'
              : `Version ${base.version + 1} replaces version ${base.version}, with ${changes === 1 ? '1 change' : `${changes} changes`}.`}{' '}
            It applies to all players from their next call {at === '' ? 'on' : 'after that time on'}.
          </p>
          {shared && <Approval draft={shared} />}
          <PreviewSentences of={preview} none="No player’s level, tiers or price changes at once." />
        </>
      }
      run={at === '' ? run : plan}
      onClose={onClose}
    >
      <TextField label="Publish at" name="publishAt" hint="Empty: now." isMoment step={1} value={at} onChange={setAt} />
    </ActionDialog>
  )
}

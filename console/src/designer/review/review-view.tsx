import { useMemo, useState } from 'react'
import { RoleButton } from '../../ui/button.tsx'
import { Panel } from '../../ui/page.tsx'
import { Empty, Notice } from '../../ui/states.tsx'
import { type Draft, useDraftState } from '../draft/draft.ts'
import { describeChanges } from '../model/words.ts'
import type { Check } from '../problems/use-problems.ts'
import type { SharedDraft } from '../shared/exchange.ts'
import { ChangeList } from './change-list.tsx'
import { PassTotals, usePasses } from './pass-totals.tsx'
import { PreviewPanel } from './preview-panel.tsx'
import { PublishDialog } from './publish-dialog.tsx'
import { type Preview, usePreview } from './use-preview.ts'
import { WhatIf } from './what-if.tsx'

export function ReviewView(props: {
  readonly draft: Draft
  readonly environment: string
  readonly scenarioId: string
  readonly check: Check
  readonly currentVersion: number
  readonly shared: SharedDraft | null
  readonly onConflict: () => void
}) {
  const { draft, environment, scenarioId, check, currentVersion, shared, onConflict } = props
  const { history, base, isChanged, read } = useDraftState(draft)
  const { text } = history
  // The dialog shows the preview of the moment when it was opened.
  const [opened, setOpened] = useState<Preview>()
  const hasFaults = read.fault !== undefined || check.problems.some(({ kind }) => kind === 'fault')
  const preview = usePreview(environment, scenarioId, isChanged && !read.fault ? text : undefined)
  const passes = usePasses(text)
  const changes = useMemo(() => describeChanges(base.text === '' ? '{}' : base.text, text), [base.text, text])
  const count = changes?.reduce((sum, { lines }) => sum + lines.length, 0) ?? 0
  const isBehind = currentVersion !== base.version
  const dialog = opened && (
    <PublishDialog
      draft={draft}
      environment={environment}
      scenarioId={scenarioId}
      preview={opened}
      changes={count}
      shared={shared}
      onConflict={onConflict}
      onClose={() => setOpened(undefined)}
    />
  )
  if (!isChanged && !opened)
    return (
      <Empty title="The draft is the published version">Change something in the graph, the table or the JSON.</Empty>
    )
  const why = read.fault
    ? 'The text is not JSON.'
    : hasFaults
      ? 'The draft has faults.'
      : isBehind
        ? `The draft is based on version ${base.version}, and version ${currentVersion} is current.`
        : undefined
  return (
    <>
      <Panel
        title={base.version === 0 ? 'What is new' : `What differs from version ${base.version}`}
        actions={
          <RoleButton
            needs="design"
            tone="primary"
            disabled={why !== undefined || preview.preview?.valid !== true}
            onClick={() => setOpened(preview.preview)}
          >
            Publish…
          </RoleButton>
        }
      >
        {why && <Notice tone="warning">It cannot be published yet. {why}</Notice>}
        <ChangeList changes={changes} />
      </Panel>
      <PassTotals passes={passes} />
      <PreviewPanel of={preview} />
      {passes.length > 0 && !hasFaults && <WhatIf text={text} passIds={passes.map(({ id }) => id)} />}
      {dialog}
    </>
  )
}

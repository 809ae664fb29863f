import { useState } from 'react'
import { useClient } from 'urql'
import { useLocation } from 'wouter'
import { MAX_ID, MAX_NAME } from '../../../src/base/limits.ts'
import { useOperator } from '../session/permission.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { type Fault, faultsOf, textOf } from '../ui/errors.ts'
import { Fields, useFields } from '../ui/fields.tsx'
import { Form, SubmitButton } from '../ui/form.tsx'
import { Notice } from '../ui/states.tsx'
import { openDraft } from './draft/draft.ts'
import { draftKey, keep, keptIds } from './draft/kept-drafts.ts'
import { momentText } from './graph/moments.ts'
import { scenarioHeadQuery, scenarioTextQuery } from './operations.ts'
import { copyOf, type Template, textOfTemplate } from './templates.ts'

interface NewScenarioProps {
  readonly environment: string
  /** The published scenarios, of which it may be a copy. */
  readonly published: readonly string[]
  readonly onClose: () => void
}

/** What a draft begins with: a template, or a copy of a scenario. */
type Beginning = Template | `copy ${string}`

const ID = {
  name: 'scenarioId',
  label: 'Id',
  hint: 'Your game client starts the scenario by this id. It cannot be changed later.',
  placeholder: 'season-2',
  maxLength: MAX_ID,
  required: true,
} as const
const STARTS = {
  name: 'startsAt',
  label: 'Starts (UTC)',
  hint: 'All dates of the copy move by the same time: by months where the day of the month stays. A date with a zone of its own is in that zone.',
  type: 'datetime-local',
  step: 1,
} as const

/** Begins a draft. Publishes nothing. */
export function NewScenarioDialog({ environment, published, onClose }: NewScenarioProps) {
  const client = useClient()
  const { projectId } = useOperator()
  const [, navigate] = useLocation()
  const fields = useFields({ scenarioId: '', name: '', template: 'season' as Beginning, startsAt: '' })
  const { name, template: beginning, startsAt: start } = fields.values
  const scenarioId = fields.values.scenarioId.trim()
  const isCopy = beginning.startsWith('copy ')
  const [fault, setFault] = useState<string>()
  const [faults, setFaults] = useState<readonly Fault[]>([])

  async function submit(): Promise<void> {
    setFault(undefined)
    setFaults([])
    // Browsers remove these from an address, so that no page could show the scenario.
    if (scenarioId === '' || scenarioId === '.' || scenarioId === '..') {
      setFaults([{ path: 'scenarioId', message: 'Enter an id with a letter or a digit.' }])
      return
    }
    const { data, error } = await client
      .query(scenarioHeadQuery, { environment, scenarioId }, { requestPolicy: 'network-only' })
      .toPromise()
    if (error) {
      setFaults(faultsOf(error))
      if (faultsOf(error).length === 0) setFault(textOf(error))
      return
    }
    if (data?.scenario || keptIds(projectId, environment).includes(scenarioId)) {
      setFault(`There is a scenario ${scenarioId} in ${environment} already.`)
      return
    }
    const text = await textFor()
    if (text === undefined) return
    const key = draftKey(projectId, environment, scenarioId)
    const kept = { text, baseVersion: 0, savedAt: Date.now() }
    keep(key, kept)
    openDraft(key, { version: 0, text: '' }, kept).accept()
    navigate(`/env/${environment}/scenarios/${encodeURIComponent(scenarioId)}/graph`)
  }

  /** The text to begin with. Undefined, with a fault, while it cannot be read. */
  async function textFor(): Promise<string | undefined> {
    if (beginning === 'season' || beginning === 'empty') return textOfTemplate(beginning, name || scenarioId)
    const variables = { environment, scenarioId: beginning.slice('copy '.length) }
    const { data, error } = await client
      .query(scenarioTextQuery, variables, { requestPolicy: 'network-only' })
      .toPromise()
    const copy = { id: scenarioId, name: name || scenarioId, start: momentText(start) }
    if (data?.scenario) return copyOf(data.scenario.definitionText, copy)
    setFault(error ? textOf(error) : `There is no scenario ${variables.scenarioId} any more.`)
    return undefined
  }

  return (
    <Dialog title="New scenario" onClose={onClose}>
      <Form onSubmit={submit} faults={faults}>
        <Fields
          of={fields}
          list={[
            ID,
            { name: 'name', label: 'Name', hint: 'The display name.', maxLength: MAX_NAME },
            {
              kind: 'choice',
              name: 'template',
              label: 'Begin with',
              options: [
                ['season', 'a season: a pass of 30 levels, rewards and pop-ups'],
                ['empty', 'nothing but the start'],
                ...published.map((one): [string, string] => [`copy ${one}`, `a copy of ${one}`]),
              ],
            },
            isCopy && STARTS,
          ]}
        />
        <p className="effect">
          It begins as a draft in this browser. Nothing applies to players before you publish it.
          {isCopy && start === '' && ' The copy has the dates of the other one: give it a start, or change them later.'}
        </p>
        {fault && <Notice tone="error">{fault}</Notice>}
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton>Begin</SubmitButton>
        </div>
      </Form>
    </Dialog>
  )
}

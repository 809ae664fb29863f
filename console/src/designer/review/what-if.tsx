import { useState } from 'react'
import { type Client, useClient, useQuery } from 'urql'
import { stepTimeText } from '../../battlepass/steps.ts'
import type { VariablesOf } from '../../graphql.ts'
import { definitionQuery, scenariosQuery } from '../../scenario/operations.ts'
import { readDefinition } from '../../scenario/read-definition.ts'
import { useEnvironment } from '../../shell/environment.tsx'
import { faultsOf, textOf } from '../../ui/errors.ts'
import { Form, SelectField, SubmitButton } from '../../ui/form.tsx'
import { Panel } from '../../ui/page.tsx'
import { usePages } from '../../ui/pages.ts'
import { Notice } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { number } from '../../ui/words.ts'
import { replayQuery } from '../operations.ts'
import css from './review.module.css'
import { type Replay, replaySentences, shareOf } from './what-if-words.ts'

type Answer = Awaited<ReturnType<typeof ask>>

/** Where players of an earlier season would have come with the draft. */
export function WhatIf({ text, passIds }: { readonly text: string; readonly passIds: readonly string[] }) {
  const environment = useEnvironment()
  const client = useClient()
  const [passId, setPassId] = useState(passIds[0] ?? '')
  const nodeId = passIds.includes(passId) ? passId : (passIds[0] ?? '')
  const season = useSeason(environment)
  const [answer, setAnswer] = useState<{ readonly of: string; readonly answer: Answer }>()
  const { ofScenarioId, ofNodeId } = season
  const input = { environment, definition: text, nodeId, ofScenarioId, ofNodeId }
  const asked = JSON.stringify(input)
  const { data, error } = answer?.of === asked ? answer.answer : {}
  const replay = data?.replaySeason
  return (
    <Panel title="What if an earlier season had been this one">
      <Form
        onSubmit={async () => setAnswer({ of: asked, answer: await ask(client, input) })}
        faults={error && faultsOf(error)}
      >
        {season.fields}
        {passIds.length > 1 && (
          <SelectField label="Pass of the draft" name="nodeId" value={nodeId} onChange={setPassId} options={passIds} />
        )}
        <p className="hint">
          The xp of up to 1,000 of its players is repeated, call by call, by the levels and the xp rules of the draft.
          Xp from operators and boosts of that season are left out.
        </p>
        <div className="actions">
          <SubmitButton disabled={ofNodeId === ''} whileBusy="Repeating…">
            Replay
          </SubmitButton>
        </div>
      </Form>
      {error && <Notice tone="error">{textOf(error)}</Notice>}
      {replay && <Result of={replay} />}
    </Panel>
  )
}

const ask = (client: Client, input: VariablesOf<typeof replayQuery>['input']) =>
  client.query(replayQuery, { input }, { requestPolicy: 'network-only' }).toPromise()

/** The choice of a season that was published, and of its pass. */
function useSeason(environment: string) {
  const { rows } = usePages({
    query: scenariosQuery,
    variables: { environment },
    connectionOf: (data) => data.scenarios,
  })
  const scenarioIds = rows.map(({ scenarioId }) => scenarioId)
  const [chosen, setChosen] = useState('')
  const ofScenarioId = chosen || (scenarioIds[0] ?? '')
  const [{ data }] = useQuery({
    query: definitionQuery,
    variables: { environment, scenarioId: ofScenarioId },
    pause: ofScenarioId === '',
  })
  const passIds = readDefinition(data?.scenario?.definition).passes.map(({ id }) => id)
  const [chosenPass, setChosenPass] = useState('')
  const ofNodeId = passIds.includes(chosenPass) ? chosenPass : (passIds[0] ?? '')
  const fields = (
    <>
      <SelectField
        label="Season that was played"
        name="ofScenarioId"
        value={ofScenarioId}
        onChange={setChosen}
        options={scenarioIds}
      />
      {passIds.length > 1 && (
        <SelectField label="Its pass" name="ofNodeId" value={ofNodeId} onChange={setChosenPass} options={passIds} />
      )}
    </>
  )
  return { ofScenarioId, ofNodeId, fields }
}

function Result({ of }: { of: Replay }) {
  return (
    <>
      <ul className={css.sentences}>
        {replaySentences(of).map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      {of.players > 0 && (
        <Table
          caption="Levels of the draft"
          rows={of.levels}
          keyOf={({ level }) => String(level)}
          columns={[
            { title: 'Level', isNumber: true, cell: ({ level }) => level },
            { title: 'Would have reached it', isNumber: true, cell: ({ players }) => shareOf(players, of) },
            { title: 'Players', isNumber: true, cell: ({ players }) => number(players) },
            { title: 'Reached it then', isNumber: true, cell: ({ playersThen }) => shareOf(playersThen, of) },
            {
              title: 'Time from the first xp (median)',
              isNumber: true,
              cell: ({ medianDays }) => stepTimeText(medianDays),
            },
          ]}
        />
      )}
    </>
  )
}

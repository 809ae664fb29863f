import { type FormEvent, useState } from 'react'
import { useClient } from 'urql'
import type { ResultOf } from '../graphql.ts'
import { Attempts } from '../players/attempts.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { type Fault, faultsOf, textOf } from '../ui/errors.ts'
import { Form, TextAreaField } from '../ui/form.tsx'
import { Notice } from '../ui/states.tsx'
import { words } from '../ui/text.tsx'
import { testProviderMutation } from './operations.ts'
import type { CustomProvider } from './providers-page.tsx'

type Result = ResultOf<typeof testProviderMutation>['testAuthProvider']

/** The last sample of each provider, for this browser. It may hold credentials of a player, so the tab forgets it. */
const sampleKey = (environment: string, name: string): string => `tierway.sample:${environment}:${name}`

/** Calls the webhook as a login would, and shows each attempt. */
export function TestProvider({ provider, onClose }: { provider: CustomProvider; onClose: () => void }) {
  const client = useClient()
  const environment = useEnvironment()
  const key = sampleKey(environment, provider.name)
  const [customData, setCustomData] = useState(sessionStorage.getItem(key) ?? '{\n  "ticket": "…"\n}')
  const [isBusy, setBusy] = useState(false)
  const [result, setResult] = useState<Result>()
  const [fault, setFault] = useState<string>()
  const [faults, setFaults] = useState<readonly Fault[]>([])

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    sessionStorage.setItem(key, customData)
    setBusy(true)
    const input = { environment, provider: provider.name, customData }
    const { data, error } = await client.mutation(testProviderMutation, { input })
    setBusy(false)
    setResult(data?.testAuthProvider)
    setFault(error && textOf(error))
    setFaults(faultsOf(error))
  }

  return (
    <Dialog title={`Test ${provider.name}`} onClose={onClose} wide>
      <Form onSubmit={submit} faults={faults}>
        <TextAreaField
          label="customData (JSON)"
          name="customData"
          hint={`Sent to ${provider.url} byte for byte. No player is made or logged in.`}
          value={customData}
          onChange={setCustomData}
          rows={6}
          required
        />
        <div className="actions">
          <Button type="submit" tone="primary" busy={isBusy}>
            {result ? 'Send again' : 'Send'}
          </Button>
        </div>
      </Form>
      {fault && <Notice tone="error">{fault}</Notice>}
      {result && (
        <>
          <Notice tone={result.outcome === 'OK' ? 'success' : 'error'}>
            {result.outcome === 'OK'
              ? `The login would succeed, with the subject ${result.subject}.`
              : `The login would fail: ${words(result.outcome)} (a client gets ${result.status}).`}
          </Notice>
          {result.notes.length > 0 && <p>Not stored: {result.notes.map(words).join(', ')}.</p>}
          <h3>Attempts</h3>
          <Attempts of={result.attempts} />
        </>
      )}
    </Dialog>
  )
}

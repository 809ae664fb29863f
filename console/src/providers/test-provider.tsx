import { useState } from 'react'
import { useClient } from 'urql'
import type { ResultOf } from '../graphql.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { type Fault, faultsOf, textOf } from '../ui/errors.ts'
import { CheckField, Form, SubmitButton, TextAreaField } from '../ui/form.tsx'
import { Facts } from '../ui/page.tsx'
import { Notice } from '../ui/states.tsx'
import { keepText } from '../ui/storage.ts'
import { AttemptTable } from './attempt-table.tsx'
import type { CustomProvider } from './operations.ts'
import { testProviderMutation } from './operations.ts'
import { SamplePicker } from './sample-picker.tsx'
import { noteName, outcomeAdvice, outcomeName } from './words.ts'

export type Result = NonNullable<ResultOf<typeof testProviderMutation>['testAuthProvider']>

/** The key of the text that was sent last. It may hold credentials of a player, so only this tab keeps it. */
const lastOf = (environment: string, name: string): string => `tierway.last-sample:${environment}:${name}`

/** Calls the webhook as a login would, and shows each attempt. */
export function TestProvider({ provider, onClose }: { provider: CustomProvider; onClose: () => void }) {
  const client = useClient()
  const environment = useEnvironment()
  const last = lastOf(environment, provider.name)
  const [customData, setCustomData] = useState(sessionStorage.getItem(last) ?? '{\n  "ticket": "…"\n}')
  const [isTwice, setTwice] = useState(false)
  const [result, setResult] = useState<Result>()
  const [fault, setFault] = useState<string>()
  const [faults, setFaults] = useState<readonly Fault[]>([])

  async function submit(): Promise<void> {
    keepText(sessionStorage, last, customData)
    const input = { environment, provider: provider.name, customData, oddBody: isTwice }
    const { data, error } = await client.mutation(testProviderMutation, { input })
    setResult(data?.testAuthProvider ?? undefined)
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
        <CheckField
          label="Send it again in another notation"
          name="oddBody"
          hint="Shows whether the webhook verifies the bytes that it receives. A ticket that works once is used up by the first call."
          value={isTwice}
          onChange={setTwice}
        />
        <div className="actions">
          <SubmitButton whileBusy="Waiting for the webhook…">{result ? 'Send again' : 'Send'}</SubmitButton>
        </div>
      </Form>
      <SamplePicker provider={provider.name} text={customData} onChoose={setCustomData} />
      {fault && <Notice tone="error">{fault}</Notice>}
      {result && (
        <>
          <Outcome of={result} />
          {result.notices.map(({ path, message }) => (
            <Notice key={path + message} tone="warning">
              {path}: {message}
            </Notice>
          ))}
          {result.outcome === 'OK' && <Stored of={result} />}
          <h3>Attempts</h3>
          <AttemptTable of={result.attempts} />
          {result.oddBody && <OddBody of={result.oddBody} />}
        </>
      )}
    </Dialog>
  )
}

export function Outcome({ of: { outcome, subject, status, reason } }: { of: Result }) {
  if (outcome === 'OK') return <Notice tone="success">The login would succeed, with the subject {subject}.</Notice>
  return (
    <Notice tone="error">
      The login would fail: {outcomeName(outcome)}. A client gets status {status}
      {reason && `, with the reason ${reason.code}${reason.text === null ? '' : ` (“${reason.text}”)`}`}.{' '}
      {outcomeAdvice(outcome)}
    </Notice>
  )
}

/** The answer to the same values in another notation, which shows whether the webhook verifies the received bytes. */
function OddBody({ of: { result, message, customDataText, attempts } }: { of: NonNullable<Result['oddBody']> }) {
  return (
    <>
      <h3>The same in another notation</h3>
      {result === 'ACCEPTED' ? (
        <Notice tone="success">Accepted: the webhook verifies the bytes that it received.</Notice>
      ) : (
        <Notice tone="error">{message}</Notice>
      )}
      <details open={result !== 'ACCEPTED'}>
        <summary>What was sent and answered</summary>
        <pre>{customDataText}</pre>
        <AttemptTable of={attempts} />
      </details>
    </>
  )
}

export function Stored({ of: { nickname, avatarUrl, dataText, claimsText, notes } }: { of: Result }) {
  return (
    <>
      <h3>What would be stored</h3>
      <Facts
        of={{
          Nickname: nickname ?? <Kept>; a new player gets the nickname of its client</Kept>,
          Avatar: avatarUrl ?? <Kept />,
          Storage: dataText === null ? <Kept /> : <pre>{dataText}</pre>,
          'Claims of the token': claimsText === null ? <span className="muted">none</span> : <pre>{claimsText}</pre>,
          Ignored: notes.length > 0 && notes.map(noteName).join(', '),
        }}
      />
    </>
  )
}

const Kept = ({ children }: { children?: string }) => <span className="muted">stays as it is{children}</span>

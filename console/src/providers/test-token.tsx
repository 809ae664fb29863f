import { useState } from 'react'
import { useClient } from 'urql'
import { useEnvironment } from '../shell/environment.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { type Fault, faultsOf, textOf } from '../ui/errors.ts'
import { Form, SubmitButton, TextAreaField, TextField } from '../ui/form.tsx'
import { Notice } from '../ui/states.tsx'
import { testProviderMutation } from './operations.ts'
import type { SignIn } from './sign-in.ts'
import { Outcome, type Result, Stored } from './test-provider.tsx'

/** Verifies an ID token as a login would. Tokens let their holder log in, so none is kept. */
export function TestToken({ signIn, onClose }: { signIn: SignIn; onClose: () => void }) {
  const client = useClient()
  const environment = useEnvironment()
  const [idToken, setToken] = useState('')
  const [nonce, setNonce] = useState('')
  const [result, setResult] = useState<Result>()
  const [fault, setFault] = useState<string>()
  const [faults, setFaults] = useState<readonly Fault[]>([])

  async function submit(): Promise<void> {
    const input = { environment, provider: signIn.provider, idToken: idToken.trim(), ...(nonce !== '' && { nonce }) }
    const { data, error } = await client.mutation(testProviderMutation, { input })
    setResult(data?.testAuthProvider ?? undefined)
    setFault(error && textOf(error))
    setFaults(faultsOf(error))
  }

  return (
    <Dialog title={`Test ${signIn.title}`} onClose={onClose} wide>
      <Form onSubmit={submit} faults={faults}>
        <TextAreaField
          label="ID token"
          name="idToken"
          hint="It is verified as a login would, and not kept. No player is made or logged in, and no nonce is used up."
          value={idToken}
          onChange={setToken}
          rows={6}
          required
        />
        <TextField label="Nonce" name="nonce" hint="For a token with one." value={nonce} onChange={setNonce} />
        <div className="actions">
          <SubmitButton whileBusy="Verifying…">{result ? 'Verify again' : 'Verify'}</SubmitButton>
        </div>
      </Form>
      {fault && <Notice tone="error">{fault}</Notice>}
      {result && (
        <>
          <Outcome of={result} />
          {result.outcome === 'OK' && <Stored of={result} />}
          {result.attempts.map(({ cause }) => cause && <p key={cause}>{cause}.</p>)}
        </>
      )}
    </Dialog>
  )
}

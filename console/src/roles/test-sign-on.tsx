import { useState } from 'react'
import { useClient } from 'urql'
import type { ResultOf } from '../graphql.ts'
import { Button } from '../ui/button.tsx'
import { faultsOf, textOf } from '../ui/errors.ts'
import { Notice } from '../ui/states.tsx'
import { testSignOnMutation } from './operations.ts'

type Test = NonNullable<ResultOf<typeof testSignOnMutation>['testSingleSignOn']>['tests'][number]

const PARTS: Readonly<Record<Test['of'], string>> = {
  CONFIGURATION: 'Configuration',
  START: 'Start of a sign-in',
  CLIENT: 'Client',
  CLAIM: 'Claim with the groups',
}
const RESULTS: Readonly<Record<Test['result'], readonly [tone: string, word: string]>> = {
  PASSED: ['good', 'passed'],
  FAILED: ['bad', 'failed'],
  UNKNOWN: ['', 'unknown'],
}

interface Tried {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly consoleUrl: string
  readonly scopes: readonly string[]
  readonly groupsClaim: string
}

/** Tries the settings of a form before they are saved. */
export function TestSignOn({ settings, disabled }: { readonly settings: Tried; readonly disabled: boolean }) {
  const client = useClient()
  const [isBusy, setBusy] = useState(false)
  const [tests, setTests] = useState<readonly Test[]>([])
  const [failure, setFailure] = useState('')

  async function run(): Promise<void> {
    setBusy(true)
    setTests([])
    const input = { ...settings, scopes: [...settings.scopes] }
    const { data, error } = await client.mutation(testSignOnMutation, { input })
    setTests(data?.testSingleSignOn?.tests ?? [])
    const faults = faultsOf(error).map(({ path, message }) => `${path} ${message}.`)
    setFailure(faults.length > 0 ? faults.join(' ') : error ? textOf(error) : '')
    setBusy(false)
  }
  return (
    <div className="field">
      <div>
        <Button busy={isBusy} disabled={disabled} onClick={() => void run()}>
          Test these settings
        </Button>
      </div>
      {failure !== '' && <Notice tone="error">{failure}</Notice>}
      {tests.length > 0 && (
        <ul aria-label="How the test went">
          {tests.map(({ of, result, message }) => (
            <li key={of}>
              <span className={`badge ${RESULTS[result][0]}`}>{RESULTS[result][1]}</span> {PARTS[of]}: {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

import { useState } from 'react'
import { useClient } from 'urql'
import { MAX_CLOCK_RATE } from '../../../src/base/limits.ts'
import { ActionDialog } from '../ui/action-dialog.tsx'
import { TextField } from '../ui/form.tsx'
import { momentOf } from '../ui/moment-field.ts'
import { Time } from '../ui/time.tsx'
import { setClockMutation } from './operations.ts'

const RATE = /^[1-9][0-9]{0,4}$/

/** Sets the clock of an environment for tests. With both fields empty it is the real one again. */
export function SetClock({ environment, onClose }: { environment: string; onClose: () => void }) {
  const client = useClient()
  const [at, setAt] = useState('')
  const [rate, setRate] = useState('')
  const moment = momentOf(at)
  const isReal = moment === undefined && rate === ''
  return (
    <ActionDialog
      title={`The clock of ${environment}`}
      effect={
        isReal ? (
          `Seasons, boosts and limits of ${environment} follow the real time.`
        ) : (
          <>
            Seasons, boosts and limits of {environment} go on from{' '}
            {moment ? <Time at={moment} parts="minute" /> : "the game's present time"}
            {rate !== '' && rate !== '1' && `, ${rate} times as fast as the real time`}. Tokens, ledgers and events keep
            the real time.
          </>
        )
      }
      confirm={isReal ? 'Use the real time' : 'Set the clock'}
      disabled={rate !== '' && !RATE.test(rate)}
      run={async (reason) => {
        const input = { environment, at: moment ?? null, rate: rate === '' ? null : Number(rate), reason }
        const { data, error } = await client.mutation(setClockMutation, { input })
        if (!data?.setEnvironmentClock) return { error }
        return { done: 'The clock is set.', auditEntry: data.setEnvironmentClock.auditEntry }
      }}
      onClose={onClose}
    >
      <TextField
        isMoment
        label="The game's time"
        name="at"
        hint="Empty: it continues from where it is, or is the real one when both are empty."
        value={at}
        onChange={setAt}
      />
      <TextField
        label="Times as fast"
        name="rate"
        inputMode="numeric"
        hint={`1 to ${MAX_CLOCK_RATE.toLocaleString('en-US')}.`}
        value={rate}
        onChange={(value) => setRate(value.trim())}
      />
    </ActionDialog>
  )
}

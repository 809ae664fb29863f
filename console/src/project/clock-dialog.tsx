import { MAX_CLOCK_RATE } from '../../../src/base/limits.ts'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { Fields, useFields } from '../ui/fields.tsx'
import { momentOf } from '../ui/moment-field.ts'
import { Time } from '../ui/time.tsx'
import { setClockMutation } from './operations.ts'

const RATE = /^[1-9][0-9]{0,4}$/

/** Sets the clock of an environment for tests. With both fields empty it is the real one again. */
export function SetClock({ environment, onClose }: { environment: string; onClose: () => void }) {
  const fields = useFields({ at: '', rate: '' })
  const { at, rate } = fields.values
  const moment = momentOf(at)
  const isReal = moment === undefined && rate === ''
  return (
    <ChangeDialog
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
      mutation={setClockMutation}
      input={{ environment, at: moment ?? null, rate: rate === '' ? null : Number(rate) }}
      done="The clock is set."
      onClose={onClose}
    >
      <Fields
        of={fields}
        list={[
          {
            name: 'at',
            label: "The game's time",
            hint: 'Empty: it continues from where it is, or is the real one when both are empty.',
            isMoment: true,
          },
          {
            name: 'rate',
            label: 'Times as fast',
            hint: `1 to ${MAX_CLOCK_RATE.toLocaleString('en-US')}.`,
            inputMode: 'numeric',
            isTrimmed: true,
          },
        ]}
      />
    </ChangeDialog>
  )
}

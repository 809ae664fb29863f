import { type ReactNode, useState } from 'react'
import type { CombinedError } from 'urql'
import { faultsOf } from '../ui/errors.ts'
import { CheckField } from '../ui/form.tsx'

/**
 * The service refuses to end the last way in for admins, unless a request says `allowLast`. The field for it appears with
 * that refusal, so that nobody ticks it beforehand.
 */
export function useLastWayIn(): {
  readonly allowLast: boolean
  /** Call it with the error of each request. */
  readonly noteRefusal: (error: CombinedError) => undefined
  readonly field: ReactNode
} {
  const [isLast, setLast] = useState(false)
  const [allowLast, setAllowLast] = useState(false)
  return {
    allowLast,
    noteRefusal(error) {
      if (faultsOf(error).some(({ path }) => path === 'allowLast')) setLast(true)
      return undefined
    },
    field: isLast && (
      <CheckField label="End the last way in for admins" name="allowLast" value={allowLast} onChange={setAllowLast} />
    ),
  }
}

import type { ReactNode } from 'react'
import { isProduction } from '../../../src/base/limits.ts'
import { useEnvironment } from '../shell/environment.tsx'

/** The effects of a change of providers, each sentence on its own line. */
export function Effects({ of }: { of: readonly (string | false | undefined)[] }): ReactNode {
  const environment = useEnvironment()
  return [...of, isProduction(environment) && `${environment} has real players.`].map(
    (text) => text && <p key={text}>{text}</p>,
  )
}

/** What a dialog says before there are effects. */
export const noEffect = (isComplete: boolean): string =>
  isComplete ? 'Nothing is changed yet.' : 'Fill in the fields to see what this will do.'

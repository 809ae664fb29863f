import { createContext, useContext } from 'react'
import { hasRight, type Right, rolesWith, type Role as ServiceRole } from '../../../src/callers/roles.ts'
import type { Session } from './session.ts'

export type { Right }

const SessionContext = createContext<Session | null>(null)

export const SessionProvider = SessionContext.Provider

export function useOperator(): Session {
  const session = useContext(SessionContext)
  if (session === null) throw new Error('nobody is signed in')
  return session
}

/** The limits of the person's role in the environment of the page. Null before they are known, and for admins. */
export interface OwnLimits {
  readonly environment: string
  readonly readsOnly: boolean
  readonly maxCredit: string | null
}

const LimitsContext = createContext<OwnLimits | null>(null)

export const LimitsProvider = LimitsContext.Provider

export const useOwnLimits = (): OwnLimits | null => useContext(LimitsContext)

const roleOf = ({ role }: Session): ServiceRole => role.toLowerCase() as ServiceRole

export const mayOf = (session: Session, right: Right): boolean => hasRight(roleOf(session), right)

const CHANGES: readonly Right[] = ['act', 'jobs', 'design']

/** Undefined when the person may do what needs a right. Otherwise the reason, in a sentence. */
export function useDenial(needed: Right): string | undefined {
  const session = useOperator()
  const limits = useOwnLimits()
  if (!mayOf(session, needed))
    return `This needs the role ${inWords(rolesWith(needed))}. You are signed in as ${roleOf(session)}.`
  return limits?.readsOnly && CHANGES.includes(needed)
    ? `The role ${roleOf(session)} only reads in ${limits.environment}.`
    : undefined
}

const inWords = (names: readonly string[]): string =>
  names.length === 1 ? String(names[0]) : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`

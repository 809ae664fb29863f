import { createContext, useContext } from 'react'
import { includesRole, type Role, type Session } from './session.ts'

const SessionContext = createContext<Session | null>(null)

export const SessionProvider = SessionContext.Provider

export function useOperator(): Session {
  const session = useContext(SessionContext)
  if (session === null) throw new Error('nobody is signed in')
  return session
}

/** Undefined when the person may do what needs a role. Otherwise the reason, in a sentence. */
export function useDenial(needed: Role): string | undefined {
  const { role } = useOperator()
  return includesRole(role, needed)
    ? undefined
    : `This needs the role ${needed.toLowerCase()}. You are signed in as ${role.toLowerCase()}.`
}

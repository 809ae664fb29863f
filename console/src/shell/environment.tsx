import { createContext, useContext } from 'react'

const EnvironmentContext = createContext<string | null>(null)

export const EnvironmentProvider = EnvironmentContext.Provider

/** The environment of the page: the one in its address. */
export function useEnvironment(): string {
  const environment = useContext(EnvironmentContext)
  if (environment === null) throw new Error('this page belongs to no environment')
  return environment
}

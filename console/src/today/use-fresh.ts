import { useMemo } from 'react'

/** The context of a query that is read again when `at` changes, also where its variables stay the same. */
export const useFresh = (at: number) => useMemo(() => ({ at }), [at])

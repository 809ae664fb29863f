import { useCallback, useMemo, useState } from 'react'
import { type AnyVariables, type CombinedError, type TypedDocumentNode, useClient, useQuery } from 'urql'

/** A connection of the schema, as far as a list needs it. */
interface Connection<Node> {
  readonly nodes: readonly Node[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

export interface Pages<Node> {
  /** The entries of all pages that were read. */
  readonly rows: readonly Node[]
  readonly error: CombinedError | undefined
  readonly isLoading: boolean
  /** The list is being read again from its beginning. A next page would belong to the old list. */
  readonly isStale: boolean
  readonly hasMore: boolean
  readonly more: () => void
  /** Reads the list again from its beginning. */
  readonly reload: () => void
}

/**
 * A list that is read page by page. The operation takes `$after`. The first page is read again after mutations that
 * touch its types, and the list then begins again. `context` may have `additionalTypenames`.
 */
export function usePages<Data, Variables extends AnyVariables & { after?: string | null }, Node>(options: {
  readonly query: TypedDocumentNode<Data, Variables>
  readonly variables: Omit<Variables, 'after'>
  readonly connectionOf: (data: Data) => Connection<Node> | null | undefined
  readonly additionalTypenames?: string[]
  readonly pause?: boolean
}): Pages<Node> {
  const { query, connectionOf, pause } = options
  const client = useClient()
  // biome-ignore lint/correctness/useExhaustiveDependencies: variables and names are compared by their content
  const { variables, context } = useMemo(
    () => ({
      variables: options.variables as Variables,
      context: { requestPolicy: 'cache-and-network' as const, additionalTypenames: options.additionalTypenames },
    }),
    [JSON.stringify(options.variables), options.additionalTypenames?.join()],
  )
  const [first, readFirst] = useQuery({ query, variables, context, pause })
  const [next, setNext] = useState<{ of: Data | undefined; pages: readonly Data[]; error?: CombinedError }>()
  const [isReading, setReading] = useState(false)

  const later = next?.of === first.data ? next : undefined
  // A refused query has null instead of data.
  const pages = [first.data, ...(later?.pages ?? [])].filter((data) => data !== undefined && data !== null)
  const connections = pages.flatMap((data) => connectionOf(data) ?? [])
  const last = connections.at(-1)?.pageInfo

  const more = useCallback(async () => {
    if (isReading || first.stale || !last?.hasNextPage) return
    setReading(true)
    const result = await client.query(query, { ...variables, after: last.endCursor } as Variables, {
      requestPolicy: 'network-only',
    })
    setReading(false)
    setNext((before) => {
      const known = before?.of === first.data ? before : undefined
      return {
        of: first.data,
        pages: [...(known?.pages ?? []), ...(result.data ? [result.data] : [])],
        error: result.error,
      }
    })
  }, [client, query, variables, first.data, first.stale, last, isReading])

  return {
    rows: connections.flatMap(({ nodes }) => nodes),
    error: first.error ?? later?.error,
    isLoading: first.fetching || isReading,
    isStale: first.stale,
    hasMore: last?.hasNextPage ?? false,
    more: () => void more(),
    reload: () => readFirst({ requestPolicy: 'network-only' }),
  }
}

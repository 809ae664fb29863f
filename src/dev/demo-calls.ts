import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { Demo } from './seed.ts'

// The calls of the demos, which any program could make.

// biome-ignore lint/suspicious/noExplicitAny: the answers of the API, whose shapes openapi.json describes.
export type Body = any

export async function graphql(demo: Demo, headers: HeadersInit, query: string, variables: object = {}): Promise<Body> {
  const response = await fetch(`${demo.baseUrl}/graphql`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors }: Body = await response.json()
  if (errors) throw new Error(`GraphQL answered ${JSON.stringify(errors)}`)
  return data
}

export const asAdmin = (demo: Demo, query: string, variables: object): Promise<Body> =>
  graphql(demo, { authorization: `Bearer ${demo.platformKey}` }, query, variables)

export async function streamCursor(demo: Demo, environment: string): Promise<string> {
  const query = 'query ($environment: String) { streamCursor(environment: $environment) }'
  return (await asAdmin(demo, query, { environment })).streamCursor
}

export interface Listening {
  readonly environment: string
  /** The fields of an event. */
  readonly fields: string
  /** The cursor after which events are heard. */
  readonly after: string
  readonly onEvent: (event: Body) => void
  readonly onError: (error: unknown) => void
}

/** Listens to the events of an environment over a WebSocket. Call the returned function to stop. */
export function listen(demo: Demo, { environment, fields, after, onEvent, onError }: Listening): () => void {
  const client = createClient({
    url: `${demo.baseUrl.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${demo.platformKey}` },
  })
  const query = `subscription ($environment: String!, $after: String) {
    onEvent(environment: $environment, after: $after) { ${fields} }
  }`
  client.subscribe(
    { query, variables: { environment, after } },
    {
      next: ({ data }) => {
        const event = data?.onEvent as Body
        if (event) onEvent(event)
      },
      error: onError,
      complete: () => {},
    },
  )
  return () => void client.dispose()
}

import { builder } from './builder.ts'
import { namesOf } from './page.ts'

const make = (node: string) => {
  const [connection, edge] = namesOf(node)
  return builder.connectionObject({ type: node as never, ...connection }, edge)
}
const connections = new Map<string, ReturnType<typeof make>>()

/** The connection of a type of nodes, which all lists of it have. */
export function connectionOf(node: string): ReturnType<typeof make> {
  const known = connections.get(node) ?? make(node)
  connections.set(node, known)
  return known
}

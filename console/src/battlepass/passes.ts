import type { Json } from '../graphql.ts'

/** A battle pass of a definition, as far as its figures need it. */
export interface PassNode {
  readonly id: string
  readonly startsAt: string | null
  readonly endsAt: string | null
  readonly claimUntil: string | null
}

/** The battle passes of a definition, in its order. */
export function passesOf(definition: Json | undefined): readonly PassNode[] {
  const nodes = member(definition, 'nodes')
  if (!Array.isArray(nodes)) return []
  return nodes
    .filter((node) => member(node, 'type') === 'battle-pass')
    .map((node) => {
      const data = member(node, 'data')
      const moment = (name: string): string | null => {
        const value = member(data, name)
        return typeof value === 'string' ? value : null
      }
      return {
        id: String(member(node, 'id')),
        startsAt: moment('startsAt'),
        endsAt: moment('endsAt'),
        claimUntil: moment('claimUntil'),
      }
    })
}

/** A member of a JSON object. Undefined for any other value. */
export function member(of: Json | undefined, name: string): Json | undefined {
  return typeof of === 'object' && of !== null && !Array.isArray(of)
    ? (of as { [member: string]: Json })[name]
    : undefined
}

import { MAX_EDGES, MAX_ID, MAX_NAME, MAX_NODES } from '../../base/limits.ts'
import { anyObject } from '../../declare/contract.ts'
import { SERVICE_TYPES } from './handles.ts'

const text = (description: string) => ({ type: 'string', description })
const id = (description: string) => ({ ...text(description), minLength: 1, maxLength: MAX_ID })

const list = (description: string, required: readonly string[], properties: object) => ({
  type: 'array',
  items: { type: 'object', required, properties: { ...properties } },
  description,
})

/** The body of a publication in `openapi.json`. `schema.ts` is the full schema. */
export const definitionBody = {
  name: 'ScenarioDefinition',
  schema: {
    type: 'object',
    description:
      'A graph of nodes. Publishing validates the whole definition and names every fault at once. /schemas/scenario.json is the full schema, with the data of each type of node.',
    required: ['name', 'start', 'nodes', 'edges'],
    properties: {
      name: { ...text('Display name of the scenario.'), minLength: 1, maxLength: MAX_NAME },
      start: id('Id of the node where runs begin.'),
      nodes: list(`1 to ${MAX_NODES} nodes.`, ['id', 'type'], {
        id: id('Unique within the scenario.'),
        type: text(`${SERVICE_TYPES.map((type) => `\`${type}\``).join(', ')}, or a type of the client.`),
        data: anyObject,
      }),
      edges: list(`Up to ${MAX_EDGES} edges.`, ['from', 'handle', 'to'], {
        from: id('Id of the node with the handle.'),
        handle: text('The handle.'),
        to: id('Id of the node that a crossing enters.'),
      }),
    },
  },
  example: {
    name: 'Season 1',
    start: 'start',
    nodes: [
      { id: 'start', type: 'start' },
      {
        id: 'pass',
        type: 'battle-pass',
        data: {
          levels: [
            { level: 1, xp: 0 },
            { level: 2, xp: 1000 },
          ],
          tiers: [{ level: 2, track: 'free', rewards: [{ currency: 'gold', amount: 100 }] }],
          premium: { price: { currency: 'gems', amount: 950 } },
        },
      },
    ],
    edges: [{ from: 'start', handle: 'onStart', to: 'pass' }],
  },
}

import { inThousands } from '../../base/in-thousands.ts'
import { RawJson } from '../../base/json.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { jsonOrNull } from '../../declare/graphql/scalars.ts'
import {
  type ChangedNode,
  type DiffedNode,
  type Edge,
  MAX_CHANGES,
  type ScenarioDiff,
  type ValueChange,
} from './diff.ts'

const ValueChangeType = builder.objectRef<ValueChange>('ValueChange').implement({
  description: 'A changed value.',
  fields: (t) => ({
    path: t.exposeString('path', {
      description:
        'Such as `data.offer.sizes[2]`; levels and tiers are named by their keys: `data.levels[level=5].xp`.',
    }),
    before: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The value in version `from`; null for none.',
      resolve: ({ before }) => jsonOrNull(before),
    }),
    beforeText: t.exposeString('before', { nullable: true, description: 'The same as JSON text, byte for byte.' }),
    after: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The value in version `to`; null for none.',
      resolve: ({ after }) => jsonOrNull(after),
    }),
    afterText: t.exposeString('after', { nullable: true, description: 'The same as JSON text, byte for byte.' }),
  }),
})

const DiffedNodeType = builder.objectRef<DiffedNode>('DiffedNode').implement({
  description: 'A node that only one of two versions has.',
  fields: (t) => ({
    nodeId: t.exposeString('nodeId'),
    type: t.exposeString('type'),
    node: t.field({ type: 'JSON', description: 'The node.', resolve: ({ text }) => new RawJson(text) }),
    nodeText: t.exposeString('text', { description: 'The node as JSON text, as it was published.' }),
  }),
})

export const ChangedNodeType = builder.objectRef<ChangedNode>('ChangedNode').implement({
  description: 'A changed node.',
  fields: (t) => ({
    nodeId: t.exposeString('nodeId'),
    typeBefore: t.exposeString('typeBefore', { description: 'Its type in version `from`.' }),
    typeAfter: t.exposeString('typeAfter', { description: 'Its type in version `to`.' }),
    changes: t.field({
      type: [ValueChangeType],
      description: 'Every changed value of the node.',
      resolve: (node) => [...node.changes],
    }),
  }),
})

const EdgeType = builder.objectRef<Edge>('DefinitionEdge').implement({
  description: 'An edge of the graph: the node that a crossing of the handle enters.',
  fields: (t) => ({
    from: t.exposeString('from', { description: 'The id of the node with the handle.' }),
    handle: t.exposeString('handle'),
    to: t.exposeString('to', { description: 'The id of the node that is entered.' }),
  }),
})

const ChangedEdgeType = builder.objectRef<ScenarioDiff['edgesChanged'][number]>('ChangedEdge').implement({
  description: 'An edge with changes in members that the service does not know.',
  fields: (t) => ({
    from: t.exposeString('from', { description: 'The id of the node with the handle.' }),
    handle: t.exposeString('handle'),
    to: t.exposeString('to', { description: 'The id of the node that is entered.' }),
    changes: t.field({
      description: 'The changed values.',
      type: [ValueChangeType],
      resolve: (edge) => [...edge.changes],
    }),
  }),
})

const ReorderedEdgesType = builder.objectRef<ScenarioDiff['edgesReordered'][number]>('ReorderedEdges').implement({
  description: 'A handle whose nodes are entered in another order.',
  fields: (t) => ({
    from: t.exposeString('from', { description: 'The id of the node with the handle.' }),
    handle: t.exposeString('handle'),
    before: t.stringList({
      description: 'Ids of the nodes, in the order of version `from`.',
      resolve: ({ before }) => [...before],
    }),
    after: t.stringList({
      description: 'Ids of the nodes, in the order of version `to`.',
      resolve: ({ after }) => [...after],
    }),
  }),
})

export const DiffType = builder.objectRef<ScenarioDiff & { from: number; to: number }>('ScenarioDiff').implement({
  description:
    'The difference between two versions. Whitespace and the order of members, nodes, levels and tiers count only for `isSameText`.',
  fields: (t) => ({
    from: t.exposeInt('from', { description: 'The version that is compared.' }),
    to: t.exposeInt('to', { description: 'The version that it is compared with.' }),
    isSameText: t.exposeBoolean('isSameText', { description: 'Whether the texts are equal, byte for byte.' }),
    changes: t.field({
      type: [ValueChangeType],
      description:
        'Changes outside of nodes and edges: the name, the start, and members that the service does not know.',
      resolve: (diff) => [...diff.changes],
    }),
    nodesAdded: t.field({
      description: 'Nodes that only version `to` has.',
      type: [DiffedNodeType],
      resolve: (diff) => [...diff.nodesAdded],
    }),
    nodesRemoved: t.field({
      description: 'Nodes that only version `from` has.',
      type: [DiffedNodeType],
      resolve: (diff) => [...diff.nodesRemoved],
    }),
    nodesChanged: t.field({
      description: 'Changed nodes.',
      type: [ChangedNodeType],
      resolve: (diff) => [...diff.nodesChanged],
    }),
    edgesAdded: t.field({
      description: 'Edges that only version `to` has.',
      type: [EdgeType],
      resolve: (diff) => [...diff.edgesAdded],
    }),
    edgesRemoved: t.field({
      description: 'Edges that only version `from` has.',
      type: [EdgeType],
      resolve: (diff) => [...diff.edgesRemoved],
    }),
    edgesChanged: t.field({
      type: [ChangedEdgeType],
      description: 'Edges with changes in members that the service does not know.',
      resolve: (diff) => [...diff.edgesChanged],
    }),
    edgesReordered: t.field({
      description: 'Handles whose nodes are entered in another order.',
      type: [ReorderedEdgesType],
      resolve: (diff) => [...diff.edgesReordered],
    }),
    hasMoreChanges: t.exposeBoolean('hasMoreChanges', {
      description: `True when some \`changes\` were left out: at most ${inThousands(MAX_CHANGES)} are listed. Every changed node and edge is listed.`,
    }),
  }),
})

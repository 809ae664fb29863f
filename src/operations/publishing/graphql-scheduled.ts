import { orNull } from '../../base/errors.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { LONG, ON_REQUEST } from '../../declare/graphql/field-marks.ts'
import { NodeType, nodesOf } from '../../declare/graphql/node.ts'
import { enumType } from '../../declare/graphql/shapes.ts'
import { diffScenarios } from '../../game/definition/diff.ts'
import { DiffType } from '../../game/definition/graphql-diff.ts'
import { findOwnEnvironment } from '../../players/graphql-readable.ts'
import { readScenario } from './publish.ts'
import { PUBLICATION_STATES, plannedBy, readPublication, type ShownPublication } from './scheduled.ts'

const StateType = enumType('PublicationState', PUBLICATION_STATES, {
  description: 'The state of a planned publication.',
  values: {
    planned: 'Its time is to come.',
    published: 'It was published.',
    failed: 'It was refused when its time came. `failure` gives the reason.',
    cancelled: 'It was cancelled before its time.',
  },
})

export const PublicationType = builder.objectRef<ShownPublication>('ScheduledPublication').implement({
  description: 'A publication of a scenario at a later time.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ environment, id }) => globalId('ScheduledPublication', environment, id) }),
    publicationId: t.exposeID('id', { description: 'The id, for `cancelPublication`.' }),
    environment: t.exposeString('environment'),
    scenarioId: t.exposeString('scenarioId'),
    publishAt: t.expose('publishAt', { type: 'DateTime', description: 'The time of the publication.' }),
    state: t.field({ type: StateType, description: 'Its state.', resolve: ({ state }) => state }),
    expectedVersion: t.exposeInt('expectedVersion', {
      nullable: true,
      description: 'The version that must be current then. Null for any.',
    }),
    version: t.exposeInt('version', {
      nullable: true,
      description: 'The version that it became. Null unless it was published.',
    }),
    failure: t.exposeString('failure', { nullable: true, description: 'Why it failed. Null unless it did.' }),
    operator: t.exposeString('operator', {
      nullable: true,
      description: 'The person who planned it. Null when the key names none.',
    }),
    reason: t.exposeString('reason', { description: 'Why it was planned, in the words of the operator.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time at which it was planned.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which it was published, failed or was cancelled. Null until then.',
    }),
    definitionText: t.exposeString('definition', {
      extensions: LONG,
      description: 'The definition as JSON text, byte for byte.',
    }),
    diff: t.field({
      extensions: ON_REQUEST,
      type: DiffType,
      nullable: true,
      description:
        'What it would change as of now: the difference to the current version. Null once it has ended, and for a scenario without a version.',
      resolve: async ({ environmentId, scenarioId, state, definition }, _args, { service }) => {
        if (state !== 'planned') return null
        const ref = { environmentId, scenarioId }
        const current = await orNull(readScenario(service.operatorPool, ref, null), 'scenarioNotFound')
        const versions = current && { from: current.version, to: current.version + 1 }
        return current && versions && { ...versions, ...diffScenarios(current.definition.text, definition) }
      },
    }),
  }),
})

builder.prismaObjectField('PlatformKey', 'plannedPublications', (t) =>
  t.field({
    type: [PublicationType],
    description:
      'The publications that were planned with it, by their time. They continue when it is revoked: cancel those that must not.',
    select: { id: true },
    resolve: ({ id }, _args, { service }) => plannedBy(service.operatorPool, id),
  }),
)

nodesOf('ScheduledPublication', ['name', 'uuid'], async (context, [environment = '', id = '']) => {
  const environmentId = await findOwnEnvironment(context, environment)
  if (environmentId === null) return null
  const found = await readPublication(context.service.operatorPool, environmentId, id)
  return found && { ...found, environment, environmentId }
})

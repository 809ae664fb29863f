import { orNull } from '../../base/errors.ts'
import { MAX_INT32 } from '../../base/json.ts'
import { requirePlatform } from '../../callers/access.ts'
import { findEnvironment } from '../../callers/projects.ts'
import type { AnswerOf } from '../../declare/answer.ts'
import { printCursor, readCursor } from '../../declare/cursor.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import type { Context } from '../../declare/graphql/context.ts'
import { NodeType, nodesOf } from '../../declare/graphql/node.ts'
import { forwardPage, namesOf, readList } from '../../declare/graphql/page.ts'
import { argsOf, fieldsOf } from '../../declare/graphql/shapes.ts'
import { FaultType } from '../../game/definition/graphql.ts'
import type { Validation } from '../../game/definition/parse.ts'
import type { ScenarioRef } from '../../game/runs/scenarios.ts'
import { findOwnEnvironment } from '../../players/graphql-readable.ts'
import { publishedMembers, publishedScenario, readScenario } from './publish.ts'
import { scenarioRequest } from './requests.ts'
import { countVersions, listVersions, type VersionSummary } from './versions.ts'

const { definition: _text, ...versionMembers } = publishedMembers

builder.objectRef<AnswerOf<typeof publishedScenario>>('ScenarioVersion').implement({
  description: publishedScenario.description,
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({
      resolve: ({ environment, scenarioId, version }) => globalId('ScenarioVersion', environment, scenarioId, version),
    }),
    ...fieldsOf(t, versionMembers),
    definition: t.expose('definition', {
      type: 'JSON',
      description: 'The definition as values. The last of several members with the same name counts.',
    }),
    definitionText: t.string({
      description:
        'The definition as JSON text, byte for byte as it was published. Publishing the current text again changes nothing.',
      resolve: (scenario) => scenario.definition.text,
    }),
  }),
})

builder.prismaObject('Scenario', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({
      select: { id: true, environment: { select: { name: true } } },
      resolve: ({ environment, id }) => globalId('Scenario', environment.name, id),
    }),
    scenarioId: t.exposeString('id'),
    environment: t.string({
      select: { environment: { select: { name: true } } },
      resolve: ({ environment }) => environment.name,
    }),
    version: t.exposeInt('version'),
    publishedAt: t.expose('publishedAt', { type: 'DateTime' }),
  }),
})

const VersionSummaryType = builder.objectRef<VersionSummary>('ScenarioVersionSummary').implement({
  description: 'A published version of a scenario, without its definition, which `scenario` has.',
  fields: (t) => ({
    version: t.exposeInt('version'),
    publishedAt: t.expose('publishedAt', { type: 'DateTime' }),
    isCurrent: t.exposeBoolean('isCurrent', { description: 'Whether it is the current version.' }),
    bytes: t.exposeInt('bytes', { description: 'The length of the definition, in bytes.' }),
    sha256: t.exposeString('sha256', { description: "SHA-256 of the definition's text, in hex." }),
  }),
})

builder.objectRef<Validation>('ValidateScenarioResult').implement({
  fields: (t) => ({
    valid: t.boolean({ resolve: ({ faults }) => faults.length === 0 }),
    faults: t.field({ type: [FaultType], resolve: ({ faults }) => [...faults] }),
    notices: t.field({
      type: [FaultType],
      description:
        'Notes for the designer about a definition without faults, such as how often each reward node pays a player.',
      resolve: ({ notices }) => [...notices],
    }),
  }),
})

builder.queryField('scenarioVersions', (t) =>
  t.connection(
    {
      type: VersionSummaryType,
      description: 'The versions of a scenario, the newest first.',
      args: argsOf(scenarioRequest),
      resolve: async (_root, args, context) => {
        const { projectId } = await requirePlatform(context, 'read')
        const { size, after, ...ref } = readList(scenarioRequest, args, readVersionCursor)
        const scenario = await findScenario(context, projectId, ref)
        const found = await listVersions(context.service.operatorPool, scenario, { after, limit: size + 1 })
        const page = forwardPage(found, { size, after }, ({ version }) => printCursor('version', version))
        return { ...page, scenario }
      },
    },
    {
      ...namesOf('ScenarioVersionSummary')[0],
      fields: (t) => ({
        totalCount: t.field({
          type: 'Count',
          description: 'The length of the whole list.',
          resolve: (connection, _args, { service }) =>
            countVersions(service.operatorPool, (connection as unknown as { scenario: ScenarioRef }).scenario),
        }),
      }),
    },
    namesOf('ScenarioVersionSummary')[1],
  ),
)

/** A scenario of the key's project. An environment of another project counts as missing. */
async function findScenario(
  { service }: Context,
  projectId: string,
  { environment, scenarioId }: { environment: string; scenarioId: string },
): Promise<ScenarioRef> {
  return { environmentId: await findEnvironment(service.pool, projectId, environment), scenarioId }
}

/** The version that a cursor names; undefined for a cursor of another list. */
function readVersionCursor(cursor: string): number | undefined {
  const version = Number(readCursor('version', cursor))
  return version >= 1 && version <= MAX_INT32 ? version : undefined
}

nodesOf('Scenario', ['name', 'name'], async (context, [environment = '', id = '']) => {
  const environmentId = await findOwnEnvironment(context, environment)
  const where = environmentId === null ? null : { environmentId_id: { environmentId, id } }
  return where && context.prisma.scenario.findUnique({ where })
})

nodesOf('ScenarioVersion', ['name', 'name', 'number'], async (context, parts) => {
  const [environment = '', scenarioId = '', version] = parts
  const environmentId = await findOwnEnvironment(context, environment)
  if (environmentId === null) return null
  const ref = { environmentId, scenarioId }
  const found = await orNull(readScenario(context.service.operatorPool, ref, Number(version)), 'scenarioNotFound')
  return found && { environment, ...found }
})

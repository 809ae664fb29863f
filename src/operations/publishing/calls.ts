import { ACTIONS } from '../../audit/actions.ts'
import { MAX_PLANNED } from '../../base/limits.ts'
import { findEnvironment } from '../../callers/projects.ts'
import { out } from '../../declare/answer.ts'
import { operatorAct, operatorChange, payload } from '../../declare/operator-call.ts'
import { scenarioFault } from '../../game/definition/parse.ts'
import { checkAt, setClock, setClockRequest } from '../../game/seasons/set-clock.ts'
import { cloneScenario, type PublishedScenario, publishScenario } from './publish.ts'
import { cancelRequest, cloneRequest, publishRequest, scheduleRequest } from './requests.ts'
import { cancelPublication, type ShownPublication, schedulePublication } from './scheduled.ts'

const published = (name: string) =>
  payload(
    name,
    {
      scenario: out.ofType<PublishedScenario & { readonly environment: string }>('ScenarioVersion'),
      notices: out.list(
        scenarioFault,
        'Notes for the designer, such as a tier whose rewards a level node replaces. The same as in `validateScenario`.',
      ),
    },
    'Null when the text was current already, so that nothing changed.',
  )

const publication = (description: string) => out.ofType<ShownPublication>('ScheduledPublication', description)

export const scenarioCalls = [
  operatorAct({
    name: 'publishScenario',
    refusals: ['versionConflict', 'approvalRequired'],
    summary: 'Publishes a definition as the next version. Every fault is named at once, and then nothing is written.',
    request: publishRequest,
    cost: 50,
    answer: published('PublishScenarioPayload'),
    right: 'design',
    action: ACTIONS.publishScenario,
    title: 'Publish a scenario',
    target: 'scenarioId',
    async act({ caller, service }, { environment, environmentId, scenarioId, definition, expectedVersion, reason }) {
      const ref = { environmentId, scenarioId }
      const publisher = { caller, reason, expected: expectedVersion }
      const { scenario, notices, auditId } = await publishScenario(service.operatorPool, ref, definition, publisher)
      return { outcome: { scenario: { environment, ...scenario }, notices }, auditId }
    },
  }),
  operatorAct({
    name: 'cloneScenario',
    refusals: ['scenarioNotFound', 'versionConflict', 'approvalRequired'],
    summary:
      'Publishes the text of a version, byte for byte, in another environment of the project, or under another id. Cloning an older version to its own place goes back to that version.',
    request: cloneRequest,
    cost: 50,
    answer: published('CloneScenarioPayload'),
    right: 'design',
    action: ACTIONS.cloneScenario,
    title: 'Clone a scenario',
    target: 'toScenarioId',
    changedIn: 'toEnvironment',
    async act({ caller, service }, { environment, scenarioId, version, toEnvironment, toScenarioId, ...asked }) {
      const { environmentId, expectedVersion: expected, reason } = asked
      const { scenario, notices, auditId } = await cloneScenario(service.operatorPool, caller, {
        from: { environmentId: await findEnvironment(service.pool, caller.projectId, environment), scenarioId },
        fromEnvironment: environment,
        version,
        to: { environmentId, scenarioId: toScenarioId },
        expected,
        reason,
      })
      return { outcome: { scenario: { environment: toEnvironment, ...scenario }, notices }, auditId }
    },
  }),
  operatorChange({
    name: 'schedulePublication',
    refusals: ['approvalRequired'],
    summary: `Plans the publication of a definition at a later time, in the name of the calling key. An environment has up to ${MAX_PLANNED} planned publications. Every fault is named at once, and then nothing is planned.`,
    request: scheduleRequest,
    cost: 50,
    answer: payload(
      'SchedulePublicationPayload',
      {
        publication: publication('The planned publication.'),
        notices: out.list(scenarioFault, 'Notes for the designer. The same as in `validateScenario`.'),
      },
      'Never null.',
    ),
    right: 'design',
    action: 'scenario.schedule',
    title: 'Plan a publication',
    target: 'scenarioId',
    change: ({ client, caller }, asked) => schedulePublication(client, caller, asked),
  }),
  operatorChange({
    name: 'cancelPublication',
    summary: 'Cancels a planned publication. One that has ended stays as it is.',
    request: cancelRequest,
    answer: payload(
      'CancelPublicationPayload',
      { publication: publication('The publication after the call.') },
      'Null when it had ended already, so that nothing changed.',
    ),
    right: 'design',
    action: 'scenario.cancel_schedule',
    title: 'Cancel a planned publication',
    target: 'publicationId',
    change: ({ client }, asked) => cancelPublication(client, asked),
  }),
  operatorChange({
    name: 'setEnvironmentClock',
    summary:
      'Sets the clock of an environment for tests: ahead, back, or faster. Without `at` and `rate` it is the real one again. Counts from the next call on. Refused for an environment of real players.',
    request: setClockRequest,
    check: checkAt,
    answer: payload(
      'SetEnvironmentClockPayload',
      { environment: out.kept('Environment', 'The environment with its clock.') },
      'Null when the clock was the real one and stays so.',
    ),
    right: 'manage',
    action: 'environment.set_clock',
    title: 'Set the clock of an environment',
    target: 'environment',
    change: ({ client }, asked) => setClock(client, asked),
    afterCommit: ({ service }) => service.gameClocks.refresh(),
  }),
]

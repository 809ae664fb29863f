import { orNull } from '../../base/errors.ts'
import { MAX_DRAFTS } from '../../base/limits.ts'
import { out } from '../../declare/answer.ts'
import { operatorList, operatorRead } from '../../declare/operator-read.ts'
import { readGameNow } from '../../game/clock/game-clock.ts'
import type { ScenarioDiff } from '../../game/definition/diff.ts'
import { type Validation, validateDefinition } from '../../game/definition/parse.ts'
import { draftRequest, draftsRequest } from './draft-requests.ts'
import { type Comment, listDrafts, readComments, type ShownDraft, showDraft } from './drafts.ts'
import { type PublishedScenario, readScenario } from './publish.ts'
import { diffRequest, plannedRequest, scenariosRequest, validateRequest, versionRequest } from './requests.ts'
import { listPublications, MOST_LISTED, type ShownPublication } from './scheduled.ts'
import { diffVersions } from './versions.ts'

export const scenarioReads = [
  operatorList({
    name: 'scenarios',
    summary: 'The scenarios of an environment, by id.',
    request: scenariosRequest,
    right: 'read',
    rows: 'Scenario',
    pagedBy: 'environmentId_id',
    hasNamesAsIds: true,
    where: (_asking, { environmentId }) => ({ environmentId }),
  }),
  operatorRead({
    name: 'scenario',
    summary: 'The current version of a scenario, or an older one. Null for a missing one.',
    request: versionRequest,
    right: 'read',
    answer: out.orNull(out.ofType<PublishedScenario & { readonly environment: string }>('ScenarioVersion')),
    async read({ service }, { environment, environmentId, scenarioId, version }) {
      const ref = { environmentId, scenarioId }
      const published = await orNull(readScenario(service.operatorPool, ref, version), 'scenarioNotFound')
      return published && { environment, ...published }
    },
  }),
  operatorRead({
    name: 'scenarioDiff',
    summary: 'The difference between two versions of a scenario, in either direction.',
    request: diffRequest,
    right: 'read',
    cost: 50,
    answer: out.orNull(out.ofType<ScenarioDiff & { from: number; to: number }>('ScenarioDiff')),
    async read({ service }, { environmentId, scenarioId, from, to }) {
      const ref = { environmentId, scenarioId }
      return { from, to, ...(await diffVersions(service.operatorPool, ref, { from, to })) }
    },
  }),
  operatorRead({
    name: 'validateScenario',
    summary: 'Validates a definition: every reason why publishing would refuse it.',
    request: validateRequest,
    hasInput: true,
    right: 'read',
    cost: 50,
    answer: out.ofType<Validation>('ValidateScenarioResult'),
    read: async ({ service }, { environmentId, scenarioId, definition }) =>
      validateDefinition(definition, await readGameNow(service.pool, environmentId), scenarioId),
  }),
  operatorRead({
    name: 'scheduledPublications',
    summary: `The publications of an environment at later times: planned ones by their time, then the last ${MOST_LISTED} that have ended, the latest first.`,
    request: plannedRequest,
    right: 'read',
    answer: out.listOfType<ShownPublication>('ScheduledPublication'),
    async read({ service }, { environment, environmentId, scenarioId }) {
      const found = await listPublications(service.operatorPool, environmentId, scenarioId)
      return found.map((one) => ({ ...one, environment, environmentId }))
    },
  }),
  operatorRead({
    name: 'scenarioDrafts',
    summary: `The shared drafts of an environment, the last changed first: up to ${MAX_DRAFTS}.`,
    request: draftsRequest,
    right: 'read',
    answer: out.listOfType<ShownDraft & { readonly comments: readonly Comment[] }>('ScenarioDraft'),
    async read({ service }, { environment, environmentId, scenarioId }) {
      const found = await listDrafts(service.operatorPool, environmentId, scenarioId)
      const ids = found.map(({ id }) => id)
      const comments = await readComments(service.operatorPool, ids)
      return found.map((draft) => ({ ...draft, environment, comments: comments.get(draft.id) ?? [] }))
    },
  }),
  operatorRead({
    name: 'scenarioDraft',
    summary: 'One shared draft. Null for an unknown one, and for one that was published or deleted.',
    request: draftRequest,
    right: 'read',
    answer: out.orNull(out.ofType<ShownDraft>('ScenarioDraft')),
    read: async ({ service }, asked) => (await showDraft(service.operatorPool, asked)).draft,
  }),
]

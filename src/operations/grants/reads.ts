import { out } from '../../declare/answer.ts'
import { operatorList, operatorRead } from '../../declare/operator-read.ts'
import { findJob } from './job.ts'
import { grantPolicy, readGrantPolicy } from './manage-jobs.ts'
import { type PreviewedJob, type PreviewedUndo, previewGrantJob, previewUndo } from './preview.ts'
import { checkGift, jobsRequest, policyRequest, previewGrantJobRequest, previewUndoRequest } from './requests.ts'

export const grantReads = [
  operatorList({
    name: 'grantJobs',
    summary: 'The grant jobs of an environment, the last made first.',
    request: jobsRequest,
    right: 'players',
    rows: 'GrantJob',
    nodesIn: (projectId) => ({ environment: { projectId } }),
    pagedBy: 'id',
    where: (_asking, { environmentId, states }) => ({
      environmentId,
      ...(states && { state: { in: [...states] } }),
    }),
  }),
  operatorRead({
    name: 'grantJob',
    summary: 'A grant job by its id. Null for an unknown one.',
    request: previewUndoRequest,
    right: 'players',
    answer: out.orNull(out.kept('GrantJob')),
    read: async ({ service }, { environmentId, jobId }) =>
      (await findJob(service.operatorPool, environmentId, jobId)) && jobId,
  }),
  operatorRead({
    name: 'previewGrantJob',
    summary:
      'What a grant job would do now: how many players, how much, and who would get nothing. Refuses what `createGrantJob` refuses, and writes nothing.',
    request: previewGrantJobRequest,
    hasInput: true,
    check: checkGift,
    right: 'jobs',
    cost: 100,
    answer: out.ofType<PreviewedJob>('PreviewGrantJobResult'),
    read: ({ caller, service }, asked) => previewGrantJob(service, caller, asked),
  }),
  operatorRead({
    name: 'previewGrantUndo',
    summary: 'What an undo of a grant job could take back now. Refuses what `undoGrantJob` refuses.',
    request: previewUndoRequest,
    right: 'players',
    cost: 100,
    answer: out.ofType<PreviewedUndo>('PreviewGrantUndoResult'),
    read: ({ service }, asked) => previewUndo(service.operatorPool, asked),
  }),
  operatorRead({
    name: 'grantPolicy',
    summary: 'The policy of an environment about approvals of grant jobs.',
    request: policyRequest,
    right: 'read',
    answer: grantPolicy,
    read: ({ service }, { environmentId }) => readGrantPolicy(service.pool, environmentId),
  }),
]

import { ACTIONS } from '../../audit/actions.ts'
import { out } from '../../declare/answer.ts'
import { operatorAct, operatorChange, payload } from '../../declare/operator-call.ts'
import { createGrantJob, grantPolicy, moveJob, setGrantPolicy, undoGrantJob } from './manage-jobs.ts'
import { checkGift, createGrantJobRequest, jobRequest, setPolicyRequest, undoRequest } from './requests.ts'

const answer = payload('GrantJobPayload', { job: out.kept('GrantJob', 'The job after the change.') })

/** The input of calls that bring a job into another state. */
const MOVE = 'GrantJobMoveInput'

export const grantCalls = [
  operatorAct({
    name: 'createGrantJob',
    refusals: ['unknownCurrency', 'creditLimitExceeded', 'roleLimitExceeded'],
    summary:
      'Makes a grant job: each of its players gets the same once, or the amount of a list. A call that is repeated with its key changes nothing.',
    request: createGrantJobRequest,
    check: checkGift,
    cost: 50,
    answer,
    right: 'jobs',
    action: ACTIONS.createGrantJob,
    title: 'Make a grant job',
    target: 'environment',
    // The name is not in the hash of the request, by which repeats are known.
    async act({ caller, service }, { environment: _, ...asked }) {
      const { jobId, auditId } = await createGrantJob(service, caller, asked)
      return { outcome: { job: jobId }, auditId }
    },
  }),
  operatorChange({
    name: 'approveGrantJob',
    input: MOVE,
    summary:
      'Approves a grant job that waits for it. Refused for the person who made it: operators with tokens must have another name, other callers another key and no name that is the same.',
    request: jobRequest,
    answer,
    right: 'jobs',
    action: 'grant_job.approve',
    title: 'Approve a grant job',
    target: 'jobId',
    change: ({ client, caller }, asked) => moveJob(client, caller, 'approve', asked),
  }),
  operatorChange({
    name: 'pauseGrantJob',
    input: MOVE,
    summary: 'Pauses a running grant job. Once it is answered, nobody gets anything until the job is resumed.',
    request: jobRequest,
    answer,
    right: 'jobs',
    action: 'grant_job.pause',
    title: 'Pause a grant job',
    target: 'jobId',
    change: ({ client, caller }, asked) => moveJob(client, caller, 'pause', asked),
  }),
  operatorChange({
    name: 'resumeGrantJob',
    input: MOVE,
    summary: 'Resumes a paused grant job. From then on the caller is responsible for it.',
    request: jobRequest,
    answer,
    right: 'jobs',
    action: 'grant_job.resume',
    title: 'Resume a grant job',
    target: 'jobId',
    change: ({ client, caller }, asked) => moveJob(client, caller, 'resume', asked),
  }),
  operatorChange({
    name: 'cancelGrantJob',
    input: MOVE,
    summary: 'Cancels a grant job for good. Once it is answered, nobody gets anything. What was given stays given.',
    request: jobRequest,
    answer,
    right: 'jobs',
    action: 'grant_job.cancel',
    title: 'Cancel a grant job',
    target: 'jobId',
    change: ({ client, caller }, asked) => moveJob(client, caller, 'cancel', asked),
  }),
  operatorChange({
    name: 'undoGrantJob',
    summary:
      'Makes a job that takes back what another job gave and its players still have. `previewGrantUndo` shows what that is. The other job must have ended. Xp and levels are not taken back. A job that is undone keeps its undo.',
    request: undoRequest,
    answer,
    right: 'jobs',
    action: 'grant_job.undo',
    title: 'Undo a grant job',
    target: 'jobId',
    change: ({ client, caller }, asked) => undoGrantJob(client, caller, asked),
  }),
  operatorChange({
    name: 'setGrantPolicy',
    summary:
      'Sets the size above which grant jobs of an environment wait for the approval of a second person. It applies to jobs that collect their players later. For admins.',
    request: setPolicyRequest,
    answer: payload('SetGrantPolicyPayload', { policy: out.of(grantPolicy, 'The policy after the change.') }),
    right: 'manage',
    action: 'grant_policy.set',
    title: 'Set the policy of approvals',
    target: 'environment',
    change: (changing, asked) => setGrantPolicy(changing, asked.environmentId, asked),
  }),
]

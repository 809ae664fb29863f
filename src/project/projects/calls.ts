import {
  createEnvironment,
  createEnvironmentRequest,
  renameProject,
  renameProjectRequest,
} from '../../callers/projects.ts'
import { out } from '../../declare/answer.ts'
import { operatorChange, payload } from '../../declare/operator-call.ts'

export const projectCalls = [
  operatorChange({
    name: 'createEnvironment',
    refusals: ['environmentExists', 'tooManyEnvironments'],
    summary: 'Makes an environment without keys, providers, scenarios and players.',
    request: createEnvironmentRequest,
    answer: payload(
      'CreateEnvironmentPayload',
      { environment: out.kept('Environment', 'The new environment.') },
      'Never null.',
    ),
    right: 'manage',
    action: 'environment.create',
    title: 'Create an environment',
    target: 'name',
    change: ({ client, caller }, asked) => createEnvironment(client, caller, asked),
  }),
  operatorChange({
    name: 'renameProject',
    summary: "Renames the key's project.",
    request: renameProjectRequest,
    answer: payload('RenameProjectPayload', { project: out.kept('Project') }, 'Never null.'),
    right: 'manage',
    action: 'project.rename',
    title: 'Rename the project',
    target: { word: 'project' },
    change: (changing, asked) => renameProject(changing, changing.caller, asked),
  }),
]

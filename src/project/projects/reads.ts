import { SHOWN_CHARACTERS } from '../../callers/keys.ts'
import { ROLES } from '../../callers/roles.ts'
import { out } from '../../declare/answer.ts'
import { environment } from '../../declare/common.ts'
import { operatorList, operatorRead } from '../../declare/operator-read.ts'
import { described, mapped, oneOf, optional, shape, text } from '../../declare/shape.ts'

/** Keys by their beginning. Prisma appends a `%` and does not escape wildcards in the text. */
const prefix = mapped(
  optional(text('The beginning of the key, as far as it is shown.', { max: SHOWN_CHARACTERS })),
  (beginning) => (beginning === null ? {} : { prefix: { startsWith: beginning.replace(/[\\%_]/g, '\\$&') } }),
)
const environmentKeysRequest = shape({
  environment: optional(described(environment, 'Only this environment.')),
  prefix,
})
const platformKeysRequest = shape({ role: optional(oneOf('Only this role.', ROLES)), prefix })

/** The keys of one environment of a project, or of all. */
const keysIn = (projectId: string, environmentId: string | null) =>
  environmentId === null ? { environment: { projectId } } : { environmentId }

export const projectReads = [
  operatorRead({
    name: 'project',
    summary: "The key's project.",
    request: shape({}),
    right: 'read',
    answer: out.kept('Project'),
    read: ({ caller }) => caller.projectId,
  }),
  operatorList({
    name: 'environments',
    summary: "The environments of the key's project, by name.",
    request: shape({}),
    right: 'read',
    rows: 'Environment',
    nodesIn: (projectId) => ({ projectId }),
    where: ({ caller: { projectId } }) => ({ projectId }),
  }),
  operatorList({
    name: 'sdkKeys',
    summary: "The SDK keys of the key's project, the latest first.",
    request: environmentKeysRequest,
    right: 'manage',
    denied: { action: 'sdk_key.read', target: 'keys' },
    rows: 'SdkKey',
    nodesIn: (projectId) => ({ environment: { projectId } }),
    pagedBy: 'id',
    where: ({ caller }, { environmentId, prefix }) => ({ ...keysIn(caller.projectId, environmentId), ...prefix }),
  }),
  operatorList({
    name: 'serverKeys',
    summary: "The server keys of the key's project, the latest first.",
    request: environmentKeysRequest,
    right: 'manage',
    denied: { action: 'server_key.read', target: 'keys' },
    rows: 'ServerKey',
    nodesIn: (projectId) => ({ environment: { projectId } }),
    pagedBy: 'id',
    where: ({ caller }, { environmentId, prefix }) => ({ ...keysIn(caller.projectId, environmentId), ...prefix }),
  }),
  operatorList({
    name: 'platformKeys',
    summary: "The platform keys of the key's project, the latest first.",
    request: platformKeysRequest,
    right: 'manage',
    denied: { action: 'platform_key.read', target: 'keys' },
    rows: 'PlatformKey',
    nodesIn: (projectId) => ({ projectId }),
    pagedBy: 'id',
    where: ({ caller: { projectId } }, { role, prefix }) => ({ projectId, ...(role && { role }), ...prefix }),
  }),
]

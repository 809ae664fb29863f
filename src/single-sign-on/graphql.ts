import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { requirePlatform } from '../callers/access.ts'
import { builder } from '../declare/graphql/builder.ts'
import { enumType, inputOf } from '../declare/graphql/shapes.ts'
import { RoleType, requireMaker } from '../projects/graphql-keys.ts'
import { removeRequest, setRequest, testRequest } from './requests.ts'
import {
  isOn,
  readSignOn,
  redirectUriOf,
  removeSignOn,
  type SignOnGroup,
  type SignOnSettings,
  setSignOn,
} from './settings.ts'
import { type SignOnTest, TEST_RESULTS, TESTED, testSignOn } from './test-sign-on.ts'

const GroupRoleType = builder.objectRef<SignOnGroup & { readonly isOn: boolean }>('GroupRole').implement({
  description: 'The role of the people of a group.',
  fields: (t) => ({
    group: t.exposeString('group', { description: 'A value of the claim: a name or an id, as the issuer sends it.' }),
    role: t.expose('role', { type: RoleType, description: 'The role of people of the group.' }),
    keyId: t.exposeID('keyId', {
      description:
        'The platform key of the sessions of the group, which nobody holds. The audit log names it as the actor.',
    }),
    isOn: t.exposeBoolean('isOn', {
      description:
        'False when the key of the group was revoked: its people cannot sign in until the settings are set again.',
    }),
  }),
})

const SingleSignOnType = builder.objectRef<SignOnSettings>('SingleSignOn').implement({
  description: "How people sign in to the console with the studio's own accounts: by an OpenID Connect issuer.",
  fields: (t) => ({
    title: t.exposeString('title', { description: 'What the button of the sign-in page names.' }),
    issuer: t.exposeString('issuer', { description: 'The address of the issuer.' }),
    clientId: t.exposeString('clientId', { description: 'The id of the client that the issuer has for the console.' }),
    hasClientSecret: t.boolean({
      description: 'False for a public client.',
      resolve: ({ clientSecret }) => clientSecret !== null,
    }),
    consoleUrl: t.exposeString('consoleUrl', { description: 'The address of the console, as people open it.' }),
    redirectUri: t.string({
      description: 'The address to which the issuer sends people back. The client of the issuer must allow it.',
      resolve: redirectUriOf,
    }),
    scopes: t.stringList({ description: 'What is asked for.', resolve: ({ scopes }) => [...scopes] }),
    groupsClaim: t.exposeString('groupsClaim', { description: 'The claim with the groups of a person.' }),
    groups: t.field({
      type: [GroupRoleType],
      description: 'Which groups have which role. A person has the role of the first group in this order.',
      resolve: ({ groups, validKeyIds }) => groups.map((one) => ({ ...one, isOn: validKeyIds.includes(one.keyId) })),
    }),
    sessionHours: t.exposeInt('sessionHours', { description: 'The hours until people sign in again.' }),
    isOn: t.boolean({
      description: 'False when the keys of all groups were revoked: then nobody can sign in so.',
      resolve: isOn,
    }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'The time of the last change.' }),
  }),
})

builder.queryField('singleSignOn', (t) =>
  t.field({
    type: SingleSignOnType,
    nullable: true,
    description: "How people sign in to the console with the studio's own accounts. Null where they cannot.",
    resolve: async (_root, _args, context) => {
      const attempt = { action: ACTIONS.readSingleSignOn, target: 'project' }
      const { projectId } = await requirePlatform(context, 'manage', attempt)
      return readSignOn(context.service.operatorPool, projectId)
    },
  }),
)

const Payload = builder.objectRef<Audited & { readonly projectId: string }>('SingleSignOnPayload').implement({
  fields: (t) => ({
    singleSignOn: t.field({
      type: SingleSignOnType,
      nullable: true,
      description: 'The settings after the change. Null after a removal.',
      resolve: ({ projectId }, _args, { service }) => readSignOn(service.operatorPool, projectId),
    }),
  }),
})
addAuditEntry(Payload, 'Null when nothing changed.')

const TestedPartType = enumType('SingleSignOnPart', TESTED, {
  description: 'A part of a sign-in that can be tried before anybody signs in.',
  values: {
    configuration: 'The configuration of the issuer.',
    start: 'The start of a sign-in: the scopes, and the address to which the issuer sends people back.',
    client: 'The client and its secret.',
    claim: 'The claim with the groups.',
  },
})
const TestResultType = enumType('SingleSignOnTestResult', TEST_RESULTS, {
  description: 'How a part of a sign-in went.',
  values: {
    passed: 'As it must be.',
    failed: 'Nobody can sign in so.',
    unknown: 'The issuer does not say. Sign in once to be sure.',
  },
})

const SignOnTestType = builder.objectRef<SignOnTest>('SingleSignOnTest').implement({
  description: 'How a part of a sign-in went.',
  fields: (t) => ({
    of: t.expose('of', { type: TestedPartType, description: 'The part.' }),
    result: t.expose('result', { type: TestResultType, description: 'How it went.' }),
    message: t.exposeString('message', { description: 'A sentence for the person who sets it up.' }),
  }),
})

const TestPayload = builder.objectRef<Awaited<ReturnType<typeof testSignOn>>>('TestSingleSignOnPayload').implement({
  fields: (t) => ({
    redirectUri: t.exposeString('redirectUri', {
      description: 'The address to which the issuer sends people back. The client of the issuer must allow it.',
    }),
    tests: t.field({
      type: [SignOnTestType],
      description: 'The parts that were tried. Without a configuration, no other one can be.',
      resolve: ({ tests }) => [...tests],
    }),
  }),
})

builder.mutationFields((t) => ({
  testSingleSignOn: t.field({
    type: TestPayload,
    description:
      'Tries what can be tried of single sign-on before anybody signs in: asks the issuer for its configuration, for the start of a sign-in, and for a token with a code that it has not given. Nothing changes. Google and Entra ID show an address that their client does not allow only to people.',
    args: inputOf('TestSingleSignOnInput', testRequest),
    resolve: async (_root, { input }, context) => {
      const attempt = { action: ACTIONS.testSingleSignOn, target: 'project' }
      const caller = await requirePlatform(context, 'manage', attempt)
      return testSignOn(context.service, caller, testRequest.readInput(input))
    },
  }),
  setSingleSignOn: t.field({
    type: Payload,
    description:
      "Lets people sign in to the console with the studio's own accounts. The issuer is asked for its configuration first. The sessions of a group end when the issuer, the client or the claim is another one, and when the group is gone, has another role, or now comes after a group that gives less. The others go on. Requires a platform key: a token cannot make sessions that outlive it.",
    args: inputOf('SetSingleSignOnInput', setRequest),
    resolve: async (_root, { input }, context) => {
      const caller = await requireMaker(context, ACTIONS.setSingleSignOn)
      const auditId = await setSignOn(context.service, caller, setRequest.readInput(input))
      return { projectId: caller.projectId, audit: auditRef(caller, auditId) }
    },
  }),
  removeSingleSignOn: t.field({
    type: Payload,
    description: 'Ends single sign-on, and the sessions of everybody who is signed in so.',
    args: inputOf('RemoveSingleSignOnInput', removeRequest),
    resolve: async (_root, { input }, context) => {
      const attempt = { action: ACTIONS.removeSingleSignOn, target: 'project' }
      const caller = await requirePlatform(context, 'manage', attempt)
      const auditId = await removeSignOn(context.service.operatorPool, caller, removeRequest.readInput(input))
      return { projectId: caller.projectId, audit: auditRef(caller, auditId) }
    },
  }),
}))

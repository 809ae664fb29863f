import { builder } from '../../declare/graphql/builder.ts'
import { answerType, enumType } from '../../declare/graphql/shapes.ts'
import { RoleType } from '../projects/graphql-keys.ts'
import { isOn, redirectUriOf, type SignOnGroup, type SignOnSettings } from './settings.ts'
import { signOnTest, TEST_RESULTS, TESTED } from './test-sign-on.ts'

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

builder.objectRef<SignOnSettings>('SingleSignOn').implement({
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

enumType('SingleSignOnPart', TESTED, {
  description: 'A part of a sign-in that can be tried before anybody signs in.',
  values: {
    configuration: 'The configuration of the issuer.',
    start: 'The start of a sign-in: the scopes, and the address to which the issuer sends people back.',
    client: 'The client and its secret.',
    claim: 'The claim with the groups.',
  },
})
enumType('SingleSignOnTestResult', TEST_RESULTS, {
  description: 'How a part of a sign-in went.',
  values: {
    passed: 'As it must be.',
    failed: 'Nobody can sign in so.',
    unknown: 'The issuer does not say. Sign in once to be sure.',
  },
})

answerType('SingleSignOnTest', signOnTest)

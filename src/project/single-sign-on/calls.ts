import { ACTIONS } from '../../audit/actions.ts'
import { out } from '../../declare/answer.ts'
import { operatorAct, payload } from '../../declare/operator-call.ts'
import { deleteRequest, setRequest, testRequest } from './requests.ts'
import { deleteSignOn, readSignOn, type SignOnSettings, setSignOn } from './settings.ts'
import { signOnTest, testSignOn } from './test-sign-on.ts'

const answer = payload('SingleSignOnPayload', {
  singleSignOn: out.orNull(
    out.ofType<SignOnSettings>('SingleSignOn'),
    'The settings after the change. Null after a removal.',
  ),
})

export const singleSignOnCalls = [
  operatorAct({
    name: 'testSingleSignOn',
    summary:
      'Tries what can be tried of single sign-on before anybody signs in: asks the issuer for its configuration, for the start of a sign-in, and for a token with a code that it has not given. Nothing changes. Google and Entra ID show an address that their client does not allow only to people.',
    request: testRequest,
    cost: 50,
    answer: payload(
      'TestSingleSignOnPayload',
      {
        redirectUri: out.text(
          'The address to which the issuer sends people back. The client of the issuer must allow it.',
        ),
        tests: out.list(signOnTest, 'The parts that were tried. Without a configuration, no other one can be.'),
      },
      null,
    ),
    right: 'manage',
    action: 'single_sign_on.test',
    title: 'Test single sign-on',
    target: { word: 'project' },
    act: async ({ caller, service }, asked) => ({ outcome: await testSignOn(service, caller, asked) }),
  }),
  operatorAct({
    name: 'setSingleSignOn',
    summary:
      "Lets people sign in to the console with the studio's own accounts. The issuer is asked for its configuration first. The sessions of a group end when the issuer, the client or the claim is another one, and when the group is gone, has another role, or now comes after a group that gives less. The others go on. Requires a platform key: a token cannot make sessions that outlive it.",
    request: setRequest,
    answer,
    right: 'manage',
    keyOnly: true,
    action: ACTIONS.setSingleSignOn,
    title: 'Set single sign-on',
    target: { word: 'keys' },
    async act({ caller, service }, asked) {
      const auditId = await setSignOn(service, caller, asked)
      return { outcome: { singleSignOn: await readSignOn(service.operatorPool, caller.projectId) }, auditId }
    },
  }),
  operatorAct({
    name: 'deleteSingleSignOn',
    formerly: 'removeSingleSignOn',
    summary: 'Ends single sign-on, and the sessions of everybody who is signed in so.',
    request: deleteRequest,
    answer,
    right: 'manage',
    action: ACTIONS.deleteSingleSignOn,
    title: 'Delete single sign-on',
    target: { word: 'project' },
    async act({ caller, service }, asked) {
      const auditId = await deleteSignOn(service.operatorPool, caller, asked)
      return { outcome: { singleSignOn: await readSignOn(service.operatorPool, caller.projectId) }, auditId }
    },
  }),
]

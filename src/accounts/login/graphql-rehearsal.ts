import { objectText } from '../../base/json.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { jsonOrNull } from '../../declare/graphql/scalars.ts'
import { enumType } from '../../declare/graphql/shapes.ts'
import { NoticeType } from '../providers/graphql.ts'
import type { DenialReason } from '../webhook/denial.ts'
import type { WebhookAnswer } from '../webhook/webhook-answer.ts'
import { ODD_BODY_RESULTS, type OddBodyCheck, type Rehearsal } from './custom-login.ts'
import {
  LOGIN_NOTES_DESCRIPTION,
  LoginNoteType,
  LoginOutcomeType,
  WebhookAttemptType,
} from './log/graphql-login-log.ts'

const REFUSED_ODDLY =
  'It refused the same values in another notation. It probably verifies the signature over JSON that it has parsed and printed again: verify the received bytes, before parsing. Or it refuses unknown members of `customData`, or a ticket that was used by an earlier attempt.'
const ODD_BODY_WORDS: Readonly<Record<OddBodyCheck['result'], string | null>> = {
  accepted: null,
  refused: REFUSED_ODDLY,
  'other subject': 'The webhook named another player for the same values: it must not depend on their notation.',
  failed: 'The webhook did not answer this call, so it is not known whether it verifies the received bytes.',
}

const dataText = (answer: WebhookAnswer | null): string | null =>
  answer === null || answer.data.size === 0 ? null : objectText(answer.data)

const OddBodyResultType = enumType('OddBodyResult', ODD_BODY_RESULTS, {
  description: 'The answer of a webhook to a body in another notation.',
  values: {
    accepted: 'It accepted the player again: it reads the bytes as they are.',
    refused: REFUSED_ODDLY,
    'other subject': 'It named another player than for the same values in the usual notation.',
    failed: 'It did not answer, or failed.',
  },
})

const OddBodyType = builder.objectRef<OddBodyCheck>('OddBodyCheck').implement({
  description:
    'A call with an odd but valid body: spaces, escapes, and a member `tierwayOddBody` with `1.0`, `1e3` and a long integer. JSON that is parsed and printed again has other bytes, and their signature is another.',
  fields: (t) => ({
    result: t.expose('result', { type: OddBodyResultType }),
    message: t.string({
      nullable: true,
      description: 'The likely cause, and the remedy. Null when the webhook accepted it.',
      resolve: ({ result }) => ODD_BODY_WORDS[result],
    }),
    customDataText: t.exposeString('customData', { description: 'The `customData` that was sent, byte for byte.' }),
    attempts: t.field({
      description: 'Each call, in order.',
      type: [WebhookAttemptType],
      resolve: ({ attempts }) => [...attempts],
    }),
  }),
})

const DenialReasonType = builder.objectRef<DenialReason>('DenialReason').implement({
  description: 'Why a webhook denied a player.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'A word for the game client to match on.' }),
    text: t.exposeString('text', { nullable: true, description: 'A text for the player. Null for none.' }),
  }),
})

builder.objectRef<Rehearsal>('TestAuthProviderPayload').implement({
  description: 'The result of a rehearsed login.',
  fields: (t) => ({
    status: t.exposeInt('status', { description: 'The status that a client would get over REST.' }),
    outcome: t.expose('outcome', { type: LoginOutcomeType }),
    subject: t.string({
      nullable: true,
      description: 'The subject that the webhook named. Null when the login would fail.',
      resolve: ({ answer }) => answer?.subject,
    }),
    nickname: t.string({
      nullable: true,
      description: 'The nickname that the login would store. Null when it would leave the nickname as it is.',
      resolve: ({ answer }) => answer?.nickname,
    }),
    avatarUrl: t.string({
      nullable: true,
      description: 'The avatar that the login would store. Null when it would leave the avatar as it is.',
      resolve: ({ answer }) => answer?.avatarUrl,
    }),
    data: t.field({
      type: 'JSON',
      nullable: true,
      description: "The values that the login would write into the player's storage. Null when it would write nothing.",
      resolve: ({ answer }) => jsonOrNull(dataText(answer)),
    }),
    dataText: t.string({
      nullable: true,
      description: 'The same as JSON text, each value byte for byte.',
      resolve: ({ answer }) => dataText(answer),
    }),
    claims: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'The claims that the access tokens of the login would carry. Null when there are none, or the provider is without `claims`.',
      resolve: ({ answer }) => jsonOrNull(answer?.claims ?? null),
    }),
    claimsText: t.string({
      nullable: true,
      description: 'The same as JSON text, byte for byte.',
      resolve: ({ answer }) => answer?.claims,
    }),
    attempts: t.field({
      description: 'Each call of the webhook, in order.',
      type: [WebhookAttemptType],
      resolve: ({ attempts }) => [...attempts],
    }),
    notes: t.field({
      type: [LoginNoteType],
      description: LOGIN_NOTES_DESCRIPTION,
      resolve: ({ notes }) => [...notes],
    }),
    notices: t.field({
      type: [NoticeType],
      description:
        "Peculiarities of the webhook's answer that prevent no login: a subject with white space around it, a repeated member, a misspelt one, the faults of claims.",
      resolve: ({ notices }) => [...notices],
    }),
    reason: t.field({
      type: DenialReasonType,
      nullable: true,
      description:
        'Why the webhook denied the player, as its client would receive it. Null for no reason, or when the provider is without `denialReasons`.',
      resolve: ({ reason }) => reason,
    }),
    oddBody: t.field({
      type: OddBodyType,
      nullable: true,
      description:
        'A second call with the same values in another notation, after a first one that succeeded. Null when the login would fail, and unless `oddBody` of the input is true.',
      resolve: ({ oddBody }) => oddBody,
    }),
  }),
})

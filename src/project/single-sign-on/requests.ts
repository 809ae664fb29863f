import { issuerFault } from '../../accounts/providers/issuers.ts'
import { urlFault } from '../../accounts/webhook/webhook-url.ts'
import {
  MAX_LABEL,
  MAX_SCOPE,
  MAX_SIGN_ON_GROUPS,
  MAX_SIGN_ON_SCOPES,
  MAX_SUBJECT,
  MAX_URL,
} from '../../base/limits.ts'
import { ROLES } from '../../callers/roles.ts'
import { allowLast, reason } from '../../declare/common.ts'
import { texts } from '../../declare/list-fields.ts'
import { int32, listOf, oneOf, optional, type RequestOf, shape, text } from '../../declare/shape.ts'

/** The console is a page of this path. */
const PATH = '/console'
/** In seconds, at most `MAX_OPERATOR_TOKEN_SECONDS`. */
const MAX_SESSION_HOURS = 12
const DEFAULT_SCOPES = ['openid', 'profile', 'email']

function consoleUrlFault(url: string): string | undefined {
  const fault = urlFault(url)
  if (fault !== undefined) return fault
  const { origin, href } = new URL(url)
  return href === `${origin}${PATH}` ? undefined : `must be the address of the console alone, which ends with ${PATH}`
}

const group = shape({
  group: text('A value of the claim: a name or an id, as the issuer sends it.', { max: MAX_SUBJECT }),
  role: oneOf('The role of people of the group.', ROLES),
})
export type GroupRole = RequestOf<typeof group>

const client = {
  issuer: text('The address of the issuer, whose configuration is below it.', { max: MAX_URL, check: issuerFault }),
  clientId: text('The id of the client that the issuer has for the console.', { max: MAX_SUBJECT }),
  clientSecret: optional(
    text(
      'The secret of the client. Left out: the stored one stays, where the issuer and the client are the same; else the client is public.',
      { max: MAX_SUBJECT },
    ),
  ),
  consoleUrl: text(
    'The address of the console, as people open it. The issuer sends people back to it, followed by `/sign-on/callback/` and the id of the project.',
    { max: MAX_URL, check: consoleUrlFault },
  ),
  scopes: optional(
    texts(`What is asked for, with \`openid\`. Default: ${DEFAULT_SCOPES.map((one) => `\`${one}\``).join(', ')}.`, {
      max: MAX_SIGN_ON_SCOPES,
      form: { pattern: /^[\x21\x23-\x5b\x5d-\x7e]+$/, maxLength: MAX_SCOPE, message: 'must be a scope of OAuth' },
      min: 1,
      empty: 'must not be empty: leave it out for the default',
    }),
    DEFAULT_SCOPES,
  ),
  groupsClaim: optional(
    text(
      'The claim with the groups of a person, a text or a list of texts. A nested one by its path, such as `realm_access.roles`. Default: `groups`.',
      { max: MAX_LABEL },
    ),
    'groups',
  ),
}

/** What is tried before it is set. */
export const testRequest = shape(client)
export type TestRequest = RequestOf<typeof testRequest>

export const setRequest = shape({
  title: text(`What the button of the sign-in page names: 1 to ${MAX_LABEL} characters, such as \`Studio account\`.`, {
    max: MAX_LABEL,
  }),
  ...client,
  groups: listOf(
    `Which groups have which role, up to ${MAX_SIGN_ON_GROUPS}. A person has the role of the first group in this order.`,
    group,
    {
      max: MAX_SIGN_ON_GROUPS,
      input: 'GroupRoleInput',
    },
  ),
  sessionHours: optional(
    int32(`The hours until people sign in again: 1 to ${MAX_SESSION_HOURS}. Default: 8.`, {
      min: 1,
      max: MAX_SESSION_HOURS,
    }),
    8,
  ),
  reason,
})
export type SetRequest = RequestOf<typeof setRequest>

export const deleteRequest = shape({ reason, allowLast })

import { MAX_NAME, MAX_TAG } from '../base/limits.ts'
import { anyText, object, optional, shape, text, unlessEmpty } from '../declare/shape.ts'

/** The credentials that a client sends for the studio's webhook (spec 4.2). */
export const credentials = {
  customData: object("Sent to the studio's webhook byte for byte. GraphQL takes an object, or its text."),
  // A name that no provider can have counts as not configured, not as an invalid request.
  provider: optional(anyText('The name of a custom provider. Default: `default`.')),
}

export const linkCustomRequest = shape(credentials, {
  name: 'CustomLinkRequest',
  example: { customData: { ticket: 'ticket-of-ada' }, provider: 'console' },
})
export const loginCustomRequest = shape(
  {
    ...credentials,
    nickname: unlessEmpty(
      'The nickname of a new player, unless the webhook gives one. Later logins ignore it.',
      MAX_NAME,
    ),
    region: unlessEmpty('The region of a new player, such as `eu-west`. Later logins ignore it.', MAX_TAG),
    language: unlessEmpty('The language of a new player, such as `pt-BR`. Later logins ignore it.', MAX_TAG),
  },
  {
    name: 'CustomLoginRequest',
    example: { customData: { ticket: 'ticket-of-ada' }, nickname: 'Ada', region: 'eu-west', language: 'en' },
  },
)

export const EXAMPLE_REFRESH_TOKEN = 'v5Nq4mWnQyX0b1Yk7Zs0c2d3e4f5g6h7i8j9k0l1m2n'

/** The token may have any length: a foreign token is an invalid token, not an invalid request. */
export const refreshRequest = shape(
  {
    refreshToken: text('The refresh token of a login.', { max: Number.MAX_SAFE_INTEGER }),
  },
  { name: 'RefreshRequest', example: { refreshToken: EXAMPLE_REFRESH_TOKEN } },
)

import {
  MAX_DELETION_DAYS,
  MAX_DEVICE_ID,
  MAX_ID_TOKEN,
  MAX_NAME,
  MAX_NONCE,
  MAX_SESSIONS,
  MAX_SLUG,
  MAX_SUBJECT,
  MAX_TAG,
  MAX_TICKET,
  MIN_DEVICE_ID,
} from '../../base/limits.ts'
import { environment, playerId, providerOfIdentity, reason } from '../../declare/common.ts'
import {
  anyText,
  described,
  flag,
  int32,
  isUuid,
  object,
  oneOf,
  optional,
  shape,
  text,
  unlessEmpty,
} from '../../declare/shape.ts'
import { CLIENT_PROFILE, DEFAULT_POLICY, IDENTITIES_AT_DELETION, WHEN_FULL } from './account-policy.ts'

/** The credentials that a client sends for the studio's webhook (contract 4.2). */
export const credentials = {
  customData: object("Sent to the studio's webhook byte for byte. GraphQL takes an object, or its text."),
  // A name that no provider can have counts as not configured, not as an invalid request.
  provider: optional(anyText('The name of a custom provider. Default: `default`.')),
}

export const linkCustomRequest = shape(credentials, {
  name: 'CustomLinkRequest',
  example: { customData: { ticket: 'ticket-of-ada' }, provider: 'console' },
})
/** What a client says of a player that its login may create, and of its device. */
export const newPlayer = {
  nickname: unlessEmpty(
    'The nickname of a new player, unless the provider gives one. Later logins ignore it.',
    MAX_NAME,
  ),
  region: unlessEmpty('The region of a new player, such as `eu-west`. Later logins ignore it.', MAX_TAG),
  language: unlessEmpty('The language of a new player, such as `pt-BR`. Later logins ignore it.', MAX_TAG),
  deviceName: unlessEmpty(
    'The name of the device, such as `Pixel 9`. The player finds it in the list of its sessions.',
    MAX_NAME,
  ),
}
export const loginCustomRequest = shape(
  { ...credentials, ...newPlayer },
  {
    name: 'CustomLoginRequest',
    example: { customData: { ticket: 'ticket-of-ada' }, nickname: 'Ada', region: 'eu-west', language: 'en' },
  },
)

/** A token of an issuer, such as Google. */
export const idToken = {
  idToken: text('The ID token that the issuer gave the game: a signed JWT.', { max: MAX_ID_TOKEN }),
  nonce: optional(
    text(
      'The nonce of the token, which works once. Required for a token with one. The token may have its SHA-256 instead, in hex or base64url.',
      { max: MAX_NONCE },
    ),
  ),
}
/** A token of an issuer that the studio has added. */
export const oidcToken = {
  provider: text('The name of the issuer in the settings of the environment.', { max: MAX_SLUG }),
  ...idToken,
}
/** Such as the zero id that iOS gives apps without permission: it would be one player for all of their devices. */
const deviceFault = (id: string): string | undefined =>
  new Set(id.replace(/[^\p{L}\p{N}]/gu, '')).size > 1 ? undefined : 'must not be one repeated character'

export const device = {
  deviceId: text(
    'A text that the client made at random for this device and keeps. A client that sends it is this player.',
    {
      min: MIN_DEVICE_ID,
      max: MAX_DEVICE_ID,
      check: deviceFault,
    },
  ),
}

const EXAMPLE_NEW_PLAYER = { nickname: 'Ada', region: 'eu-west', language: 'en' }
const EXAMPLE_ID_TOKEN = { idToken: 'eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.eyJzdWIiOiIxMTAxNjk0ODQ0NzQifQ.c2lnbmF0dXJl' }
const EXAMPLE_OIDC = { provider: 'studio', ...EXAMPLE_ID_TOKEN }
const EXAMPLE_DEVICE = { deviceId: 'q7Yk2Zs0c2d3e4f5g6h7i8j9k0l1m2nQX0b1' }

export const loginIdTokenRequest = shape(
  { ...idToken, ...newPlayer },
  { name: 'IdTokenLoginRequest', example: { ...EXAMPLE_ID_TOKEN, ...EXAMPLE_NEW_PLAYER } },
)
export const linkIdTokenRequest = shape(idToken, { name: 'IdTokenLinkRequest', example: EXAMPLE_ID_TOKEN })
export const loginOidcRequest = shape(
  { ...oidcToken, ...newPlayer },
  { name: 'OidcLoginRequest', example: { ...EXAMPLE_OIDC, ...EXAMPLE_NEW_PLAYER } },
)
export const linkOidcRequest = shape(oidcToken, { name: 'OidcLinkRequest', example: EXAMPLE_OIDC })
export const loginDeviceRequest = shape(
  { ...device, ...newPlayer },
  { name: 'DeviceLoginRequest', example: { ...EXAMPLE_DEVICE, ...EXAMPLE_NEW_PLAYER } },
)
export const linkDeviceRequest = shape(device, { name: 'DeviceLinkRequest', example: EXAMPLE_DEVICE })

export const unlinkOwnRequest = shape(
  {
    provider: providerOfIdentity('The provider: '),
    subject: text("The provider's own id of the player.", { max: MAX_SUBJECT }),
  },
  { name: 'IdentityUnlinkRequest', example: { provider: 'google', subject: '110169484474' } },
)

export const switchRequest = shape(
  {
    ticket: text('The `ticket` of the `conflict` in the refusal of a link.', { max: MAX_TICKET }),
    deviceName: newPlayer.deviceName,
  },
  { name: 'SwitchRequest', example: { ticket: 'v1.aB3dE5fG.c2lnbmF0dXJl.c2VhbGVk' } },
)

export const deletePlayerRequest = shape(
  {
    playerId: optional(
      described(
        playerId,
        'The id of the calling player, if the client wants to be sure that it deletes the player on the screen: another id is refused.',
      ),
    ),
  },
  { name: 'DeletePlayerRequest', example: { playerId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e21' } },
)

/** Several sessions, in the words of `sessions/end`. */
export const OTHER_SESSIONS = 'others'
export const ALL_SESSIONS = 'all'
export const endSessionsRequest = shape(
  {
    session: text('The id of a session; or `others` for all but the session of the call, or `all` for that one, too.', {
      max: 36,
      check: (value) =>
        isUuid(value) || value === OTHER_SESSIONS || value === ALL_SESSIONS
          ? undefined
          : `must be the id of a session, ${OTHER_SESSIONS} or ${ALL_SESSIONS}`,
    }),
  },
  { name: 'EndSessionsRequest', example: { session: OTHER_SESSIONS } },
)

export const EXAMPLE_REFRESH_TOKEN = 'v5Nq4mWnQyX0b1Yk7Zs0c2d3e4f5g6h7i8j9k0l1m2n'

/** The token may have any length: a foreign token is an invalid token, not an invalid request. */
export const refreshRequest = shape(
  {
    refreshToken: text('The refresh token of a login.', { max: Number.MAX_SAFE_INTEGER }),
  },
  { name: 'RefreshRequest', example: { refreshToken: EXAMPLE_REFRESH_TOKEN } },
)

export const accountPolicyRequest = shape({
  environment,
  maxSessions: optional(
    int32(`The sessions that a player can have at once: 1 to ${MAX_SESSIONS}. Null without a limit.`, {
      min: 1,
      max: MAX_SESSIONS,
    }),
  ),
  whenFull: optional(
    oneOf('What a login above the limit does: it ends the oldest session, or it is refused.', WHEN_FULL),
    DEFAULT_POLICY.whenFull,
  ),
  deletionDays: optional(
    int32(
      `The days between a player's call for its deletion and the deletion: 0 to ${MAX_DELETION_DAYS}. Default: ${DEFAULT_POLICY.deletionDays}.`,
      { min: 0, max: MAX_DELETION_DAYS },
    ),
    DEFAULT_POLICY.deletionDays,
  ),
  linkTickets: optional(
    flag('Whether the refusal of a link that meets another player has a ticket to that player. Default: false.'),
    DEFAULT_POLICY.linkTickets,
  ),
  identitiesAtDeletion: optional(
    oneOf('The identities of a player that deletes itself: they stay bound, or become free.', IDENTITIES_AT_DELETION),
    DEFAULT_POLICY.identitiesAtDeletion,
  ),
  clientProfile: optional(
    oneOf('Whether clients change the nickname, the region and the language of their player.', CLIENT_PROFILE),
    DEFAULT_POLICY.clientProfile,
  ),
  reason,
})

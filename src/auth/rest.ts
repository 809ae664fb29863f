import type { ClientHandler, LinkHandler } from '../http/route.ts'
import { linkCustom, loginCustom } from './custom-login.ts'
import { endSession } from './refresh-tokens.ts'
import { refreshTokens } from './token-pair.ts'
import { readCredentials, readLogin, readRefreshToken } from './wire.ts'

/** POST /sdk/v1/authorization/custom (spec 4.2): a login through the studio's webhook. */
export const postCustom: ClientHandler = ({ client, fields, service }) =>
  loginCustom(service, client, fields.read(readLogin))

/** POST /sdk/v1/authorization/custom/link (spec 4.2): attaches the webhook's subject to the player that calls. */
export const postCustomLink: LinkHandler = async ({ client, caller, fields, service }) => {
  await linkCustom(service, client, caller, fields.read(readCredentials))
}

/** POST /sdk/v1/authorization/refresh: a refresh token for a new pair. */
export const postRefresh: ClientHandler = ({ client, fields, service }) =>
  refreshTokens(service, client, fields.read(readRefreshToken))

/** POST /sdk/v1/authorization/logout: ends the login that a refresh token came from. */
export const postLogout: ClientHandler = async ({ client, fields, service }) => {
  await service.run(endSession(client.environmentId, fields.read(readRefreshToken)))
}

import type { ClientHandler, LinkHandler } from '../http/route.ts'
import { readCredentials, readLogin, readRefreshToken } from './wire.ts'

/** POST /sdk/v1/authorization/custom (spec 4.2): a login through the studio's webhook. */
export const postCustom: ClientHandler = ({ client, fields, operations }) =>
  operations.loginCustom(client, fields.read(readLogin))

/** POST /sdk/v1/authorization/custom/link (spec 4.2): attaches the webhook's subject to the player that calls. */
export const postCustomLink: LinkHandler = async ({ client, caller, fields, operations }) => {
  await operations.linkCustom(client, caller, fields.read(readCredentials))
}

/** POST /sdk/v1/authorization/refresh: a refresh token for a new pair. */
export const postRefresh: ClientHandler = ({ client, fields, operations }) =>
  operations.refreshTokens(client, fields.read(readRefreshToken))

/** POST /sdk/v1/authorization/logout: ends the login that a refresh token came from. */
export const postLogout: ClientHandler = async ({ client, fields, operations }) => {
  await operations.logout(client, fields.read(readRefreshToken))
}

import type { Fields } from '../fields.ts'
import type { CustomCredentials, LoginCustom } from './custom-login.ts'

const MAX_NICKNAME = 128
/** Region and language, such as `eu-west` and `pt-BR`. */
const MAX_TAG = 35

export function readCredentials(fields: Fields): CustomCredentials {
  return {
    customData: fields.object('customData'),
    // A name that no provider can have is one that is not configured, however it reads.
    provider: fields.optionalAnyText('provider'),
  }
}

export function readLogin(fields: Fields): LoginCustom {
  return {
    ...readCredentials(fields),
    nickname: fields.optionalText('nickname', { min: 0, max: MAX_NICKNAME }) || null,
    region: fields.optionalText('region', { min: 0, max: MAX_TAG }) || null,
    language: fields.optionalText('language', { min: 0, max: MAX_TAG }) || null,
  }
}

/** However long it is: one that is none of ours is an invalid token, not an invalid request. */
export const readRefreshToken = (fields: Fields): string =>
  fields.text('refreshToken', { max: Number.MAX_SAFE_INTEGER })

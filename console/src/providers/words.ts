import { words } from '../ui/words.ts'

// Results of logins and of webhook calls, for people who do not know the codes.

const OUTCOMES: Readonly<Record<string, string>> = {
  OK: 'succeeded',
  CUSTOM_AUTH_REJECTED: 'webhook refused',
  CUSTOM_AUTH_UNAVAILABLE: 'webhook failed',
  CUSTOM_AUTH_INVALID_RESPONSE: 'invalid answer',
  CUSTOM_AUTH_INVALID_DATA: 'data over the limits',
  CUSTOM_AUTH_DISABLED: 'provider disabled',
  SIGN_IN_DISABLED: 'provider disabled',
  ID_TOKEN_REJECTED: 'token rejected',
  SIGN_IN_UNAVAILABLE: 'keys not available',
  IDENTITY_ALREADY_LINKED: 'linked to another player',
  INVALID_SDK_KEY: 'SDK key revoked meanwhile',
  INVALID_TOKEN: 'logged out meanwhile',
}

export const outcomeName = (outcome: string): string => OUTCOMES[outcome] ?? words(outcome)

const ADVICE: Readonly<Record<string, string>> = {
  CUSTOM_AUTH_REJECTED: 'The webhook answered 4xx: it does not know this player, or refuses the signature.',
  CUSTOM_AUTH_UNAVAILABLE: 'The webhook could not be reached, or failed, at every attempt.',
  CUSTOM_AUTH_INVALID_RESPONSE:
    'The webhook must answer status 200 and a JSON object with a subject. Redirects are not followed.',
  CUSTOM_AUTH_INVALID_DATA: 'The data of the answer has too many keys, or a key or a value that is too long.',
  CUSTOM_AUTH_DISABLED: 'The provider is disabled. Enable it to test it.',
  SIGN_IN_DISABLED: 'The provider is disabled, or lacks what logins need.',
  ID_TOKEN_REJECTED: 'The reason is below.',
  SIGN_IN_UNAVAILABLE: 'The keys of the issuer could not be read: the reason is below.',
}

/** The reason why a login would fail, in a sentence. Empty for an outcome that needs none. */
export const outcomeAdvice = (outcome: string): string => ADVICE[outcome] ?? ''

const ERRORS: Readonly<Record<string, string>> = {
  TIMEOUT: 'no whole answer in time',
  DNS: 'the name has no address',
  PRIVATE_ADDRESS: 'the address is private, which this service does not call',
  REFUSED: 'nothing listens at the port',
  RESET: 'the connection was closed before the answer was whole',
  TLS: 'the certificate is not valid for this name, or the port speaks no TLS',
  PROTOCOL: 'the answer is not HTTP/1.1, or its headers are too long',
  BAD_STATUS: 'the status is outside of 200 to 599',
  TOO_LARGE: 'the answer is over 16 MiB',
  ENCODING: 'the answer is not UTF-8, or is compressed in another way than it says',
  BREAKER_OPEN: 'the calls before had failed, so this one was not made',
  OVERLOADED: 'too many calls of this provider are under way',
  NETWORK: 'the network failed',
}

export const errorName = (error: string): string => ERRORS[error] ?? words(error)

const NOTES: Readonly<Record<string, string>> = {
  NICKNAME_IGNORED: 'the nickname, which is too long or cannot be stored',
  AVATAR_IGNORED: 'the avatar, whose address is too long or cannot be stored',
  CLAIMS_IGNORED: 'the claims, which have a fault',
}

/** A part of the webhook's answer that is not stored. */
export const noteName = (note: string): string => NOTES[note] ?? words(note)

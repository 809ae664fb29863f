// The limits of requests (spec 8 and what it leaves open). Each is defined once, here, for requests, definitions,
// GraphQL, OpenAPI and the JSON Schema. Texts are counted in characters (code points).

/** Ids of scenarios, nodes and runs. */
export const MAX_ID = 128
/** Names of scenarios, projects and players. */
export const MAX_NAME = 128
export const MAX_HANDLE = 64
/** Types of nodes. */
export const MAX_TYPE = 64
/** Currencies and items. */
export const MAX_ASSET = 64
/** Currencies of an environment in the catalogue: those that admins added or limited. */
export const MAX_CURRENCIES = 1_000
/** The source of xp. */
export const MAX_SOURCE = 64
export const MAX_IDEMPOTENCY_KEY = 255
/** The reason of an operator's action. */
export const MAX_REASON = 500
/** The name of an operator: a name or an e-mail address. */
export const MAX_OPERATOR = 128
/** The purpose of a key. */
export const MAX_LABEL = 64
/** The longest lifetime of an operator token, in seconds: 12 hours. */
export const MAX_OPERATOR_TOKEN_SECONDS = 43_200
/** The studio's own id of a player. */
export const MAX_SUBJECT = 255
/** URLs of webhooks. */
export const MAX_URL = 2048
/** The nickname from a webhook; a longer one is ignored. A nickname from a client has the usual length of names. */
export const MAX_NICKNAME = 1_024
/** The URL of a player's picture; a longer one is ignored. */
export const MAX_AVATAR_URL = 8_192
/** Region and language, such as `eu-west` and `pt-BR`. */
export const MAX_TAG = 35
/** The secret of a webhook. */
export const MAX_SECRET = 512
/** Names of environments and of login providers. */
export const MAX_SLUG = 32
/** A provider in an identity: `custom:` and its name. */
export const MAX_IDENTITY_PROVIDER = 64

export const MAX_NODES = 1_000
export const MAX_EDGES = 10_000
/** Levels of one battle pass. */
export const MAX_LEVELS = 1_000
/** The highest number that a level may have. */
export const MAX_LEVEL = 1_000_000
/** Rewards of one tier or reward node. */
export const MAX_REWARDS = 32

/** Keys of one player, and of one request. */
export const MAX_STORAGE_KEYS = 1_000
export const MAX_STORAGE_KEY = 128
/** Keys of one page of a list. Their values always fit into one answer. */
export const MAX_STORAGE_PAGE = 200
/** The text of one value, in bytes of UTF-8. */
export const MAX_STORAGE_VALUE_BYTES = 65_536

/** Custom providers of one environment. Every answer about them has all of them. */
export const MAX_CUSTOM_PROVIDERS = 500

/** Deeper nesting is refused: no request needs it, and recursive readers would overflow the stack. */
export const MAX_DEPTH = 64

/** Names of environments and of login providers (spec 2.3, spec 8). */
export const SLUG = new RegExp(`^[a-z0-9][a-z0-9_-]{0,${MAX_SLUG - 1}}$`)

/** Control characters, line ends, and characters that reorder text: a log must show a name as it is. */
const UNSEEN = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u

/** The fault of a person's or a key's name; undefined for none. */
export function nameFault(text: string): string | undefined {
  if (UNSEEN.test(text)) return 'must not contain control characters'
  return text.trim() === text ? undefined : 'must not begin or end with a space'
}

/** Whether a text can name an environment or a login provider. */
export const isSlug = (text: string): boolean => SLUG.test(text)

// The limits of what callers send (spec 8 and what it leaves open). Each stands here once: requests, definitions, GraphQL,
// OpenAPI and the JSON Schema take it from here. Texts are counted in characters (code points).

/** Ids of scenarios, nodes and runs. */
export const MAX_ID = 128
/** Names of scenarios, projects and players. */
export const MAX_NAME = 128
export const MAX_HANDLE = 64
/** Types of nodes. */
export const MAX_TYPE = 64
/** Currencies and items. */
export const MAX_ASSET = 64
/** Currencies of an environment that admins added or gave a limit. */
export const MAX_CURRENCIES = 1_000
/** The label of where xp came from. */
export const MAX_SOURCE = 64
export const MAX_IDEMPOTENCY_KEY = 255
/** Why an operator does something. */
export const MAX_REASON = 500
/** What an operator is called: a name or an e-mail address. */
export const MAX_OPERATOR = 128
/** What a key is for. */
export const MAX_LABEL = 64
/** How long an operator token is good, in seconds: 12 hours. */
export const MAX_OPERATOR_TOKEN_SECONDS = 43_200
/** The studio's own id of a player. */
export const MAX_SUBJECT = 255
/** URLs of webhooks. */
export const MAX_URL = 2048
/** What a webhook calls a player; more is ignored. What its client asks for is a name of a usual length. */
export const MAX_NICKNAME = 1_024
/** The address of a player's picture; more is ignored. */
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
/** Of one battle pass. */
export const MAX_LEVELS = 1_000
/** The highest number that a level may have. */
export const MAX_LEVEL = 1_000_000
/** Of one tier or reward node. */
export const MAX_REWARDS = 32

/** Of one player; as many may be asked for at once. */
export const MAX_STORAGE_KEYS = 1_000
export const MAX_STORAGE_KEY = 128
/** Of one list of keys. Their values are never more than one answer carries, so a page of keys can be read at once. */
export const MAX_STORAGE_PAGE = 200
/** The text of one value, in bytes of UTF-8. */
export const MAX_STORAGE_VALUE_BYTES = 65_536

/** Of one environment. Each is a row and a place in every answer. */
export const MAX_CUSTOM_PROVIDERS = 500

/** Deeper nesting is refused: no request needs it, and recursive readers would not bear it. */
export const MAX_DEPTH = 64

/** Names of environments and of login providers (spec 2.3, spec 8). */
export const SLUG = new RegExp(`^[a-z0-9][a-z0-9_-]{0,${MAX_SLUG - 1}}$`)
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Control characters, ends of lines, and what turns the order of what is read: a log must show a name as it is. */
const UNSEEN = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u

/** What is wrong with a text that a person or a key is called by; undefined when nothing is. */
export function nameFault(text: string): string | undefined {
  if (UNSEEN.test(text)) return 'must not contain control characters'
  return text.trim() === text ? undefined : 'must not begin or end with a space'
}

/** Whether a text can name an environment or a login provider. */
export const isSlug = (text: string): boolean => SLUG.test(text)

/** Whether a text is an id of ours, in any letter case. */
export const isUuid = (text: string): boolean => UUID.test(text)

// The limits of what callers and webhooks send (contract 8 and what it leaves open). Each is defined once, here, for
// readers, messages, GraphQL, OpenAPI, the JSON Schema of definitions and the console, so this file imports nothing.
// Texts are counted in characters (code points), everything else in the unit that is named. Constraints in migrations
// and comments of the client library repeat some limits. The sizes of a body and of a webhook's answer, and the limits
// of tokens, GraphQL documents and sockets, are beside the code that reads them.

/** Ids of scenarios, nodes and runs. */
export const MAX_ID = 128
/** Publications that an environment has planned. */
export const MAX_PLANNED = 100
/** Names of scenarios, projects and players. */
export const MAX_NAME = 128
/** The description of a pass, a level, a tier or a reward, in one language. */
export const MAX_DESCRIPTION = 1_000
/** The picture of one of these: a URL, or a key of the game's own assets. */
export const MAX_IMAGE = 2_048
/** Languages of one text. */
export const MAX_LANGUAGES = 30
/** Handles of nodes, such as `onStart`. */
export const MAX_HANDLE = 64
/** Types of nodes. */
export const MAX_TYPE = 64
export const MAX_ASSET = 64
/** Currencies of an environment in the catalogue: those that admins added or limited. */
export const MAX_CURRENCIES = 1_000
export const MAX_SOURCE = 64
/** Sources of xp that the rules of one battle pass list. */
export const MAX_LISTED_SOURCES = 100
/** Handles of one node that its member `handles` lists. */
export const MAX_LISTED_HANDLES = 100
/** A game server's reference, such as the id of a match. */
export const MAX_REFERENCE = 128
export const MAX_IDEMPOTENCY_KEY = 255
/** `X-Request-Id`. A longer id is replaced. */
export const MAX_REQUEST_ID = 128
/** The reason of an operator's action. */
export const MAX_REASON = 500
/** The name of an operator: a name or an e-mail address. */
export const MAX_OPERATOR = 128
export const MAX_LABEL = 64
/** The action in a filter of the audit log. */
export const MAX_ACTION = 128
/** The actor in a filter of the audit log. */
export const MAX_ACTOR = 128
/** The target in a filter of the audit log. */
export const MAX_TARGET = 255
/** The longest lifetime of an operator token, in seconds: 12 hours. */
export const MAX_OPERATOR_TOKEN_SECONDS = 43_200
/** The studio's own id of a player. */
export const MAX_SUBJECT = 255
export const MAX_URL = 2048
/** The nickname from a webhook; a longer one is ignored. A nickname from a client has the usual length of names. */
export const MAX_NICKNAME = 1_024
/** The URL of a player's picture; a longer one is ignored. */
export const MAX_AVATAR_URL = 8_192
/** The claims of a login, in bytes of JSON text: each call of a player carries them. */
export const MAX_CLAIMS_BYTES = 2_048
/** How deep claims nest: parsers of tokens have limits of their own. */
export const MAX_CLAIMS_DEPTH = 16
/** Region and language, such as `eu-west` and `pt-BR`. */
export const MAX_TAG = 35
export const MAX_SECRET = 512
/** The certificates in one member of a provider, in PEM. */
export const MAX_CERTIFICATES = 32_768
/** The private key of a client certificate, in PEM: RSA with 8,192 bits fits. */
export const MAX_CLIENT_KEY = 8_192
/** The secrets of one provider that sign at once: the header with their signatures must stay short. */
export const MAX_SIGNING_SECRETS = 5
/** The longest time that a replaced secret still signs, in seconds: 30 days. */
export const MAX_OVERLAP_SECONDS = 2_592_000
/** A block of `google` or `apple`, in bytes of UTF-8: merging walks through it at each of its levels. */
export const MAX_BLOCK_BYTES = 16_384
/** The largest limit of gifts in a day. */
export const MAX_GIFTS_PER_DAY = 7_000
/** Shared drafts of an environment, and comments of a draft. */
export const MAX_DRAFTS = 150
export const MAX_DRAFT_COMMENTS = 400
/** Characters of a shared draft. */
export const MAX_DRAFT = 600_000
/** Groups of people that single sign-on knows, and scopes that it asks for. */
export const MAX_SIGN_ON_GROUPS = 100
export const MAX_SIGN_ON_SCOPES = 30
export const MAX_SCOPE = 128
/** Names of environments and of login providers. */
export const MAX_SLUG = 32
/** A provider in an identity: `custom:` and its name. */
export const MAX_IDENTITY_PROVIDER = 64

export const MAX_NODES = 1_000
export const MAX_EDGES = 10_000
export const MAX_LEVELS = 1_000
/** The highest number that a level may have. */
export const MAX_LEVEL = 1_000_000
/** The highest `endingHours` of a season: a year. */
export const MAX_ENDING_HOURS = 8_760
/** The most percent of its xp that a player takes along to the next season. */
export const MAX_CARRIED_PERCENT = 100
/** The most additional xp of owners of premium, in percent. */
export const MAX_XP_PERCENT = 1_000
/** The most percent of a boost, and of all boosts that apply at once. The database has the first limit, too. */
export const MAX_BOOST_PERCENT = 1_000
/** Boosts of one environment that have not ended. */
export const MAX_BOOSTS = 100
/** The minutes of a personal boost, and how long those of one percentage last from now on, together: 30 days. */
export const MAX_BOOST_MINUTES = 43_200
/** Scenarios that one boost names. */
export const MAX_BOOST_SCENARIOS = 100
/** How many times as fast as the real time the game's time may run. The database has the limit, too. */
export const MAX_CLOCK_RATE = 10_000
/** The days of the xp that a preview of a boost looks at. */
export const MAX_BOOST_PREVIEW_DAYS = 14
/** The most bonus tiers above the top level of a pass, in all and on a day. */
export const MAX_BONUS_TIERS = 1_000
/** Rewards of one tier, reward node or purchase, and currencies that end with a season. */
export const MAX_REWARDS = 32
/** The options of a tier's choice. */
export const MIN_OPTIONS = 2
export const MAX_OPTIONS = 10

export const MAX_STORAGE_KEYS = 1_000
export const MAX_STORAGE_KEY = 128
/** Keys of one page of a list. Their values always fit into one answer. */
export const MAX_STORAGE_PAGE = 200
/** The text of one value, in bytes of UTF-8. */
export const MAX_STORAGE_VALUE_BYTES = 65_536

/** Custom providers of one environment. Every answer about them has all of them. */
export const MAX_CUSTOM_PROVIDERS = 500
/** The version of an environment's login providers, as a client sends it. */
export const MAX_PROVIDERS_VERSION = 64
/** Issuers of ID tokens of one environment. Every answer about its providers has all of them. */
export const MAX_OIDC_PROVIDERS = 100
/** Ids of a studio's apps at one issuer. */
export const MAX_CLIENT_IDS = 50
export const MAX_CLIENT_ID = 255
/** The name of a claim of an ID token. */
export const MAX_CLAIM = 128
/** An ID token, in characters. */
export const MAX_ID_TOKEN = 16_384
/** The nonce of an ID token. */
export const MAX_NONCE = 255
/** The longest `maxAgeSeconds` of an issuer: 30 days. */
export const MAX_TOKEN_AGE_SECONDS = 2_592_000
/** The id by which a device of a guest is recognized. */
export const MIN_DEVICE_ID = 32
export const MAX_DEVICE_ID = 128
/** The reason of a denial, which a webhook gives. */
export const MAX_DENIAL_CODE = 64
export const MAX_DENIAL_TEXT = 200
/** Characters of the public reason of a ban. */
export const MAX_BAN_REASON = 200
/** Lines of one import of players. */
export const MAX_IMPORT_LINES = 10_000
/** Players of one call of support, and of a grant job that names them in its request. */
export const MAX_SUPPORT_PLAYERS = 500
/** Segments of one environment. Lists of segments are complete, never paged. */
export const MAX_SEGMENTS = 100
/** Shared views of one page of the console, in a project. Lists of them are complete, never paged. */
export const MAX_SHARED_VIEWS = 50
/** The name of a view of a page, and the query of its address. */
export const MAX_VIEW_NAME = 40
export const MAX_VIEW_QUERY = 2_000
/** Alert webhooks of one environment. Lists of them are complete, never paged. */
export const MAX_ALERT_WEBHOOKS = 10
/** The address that alerts lead to: a chat message has room for it. */
export const MAX_ALERT_LINK = 500
/** The name of a segment. */
export const MAX_SEGMENT = 64
/** Rows of one list of players. */
export const MAX_LIST_ROWS = 100_000
/** A list of players, in bytes of CSV. */
export const MAX_LIST_BYTES = 8_388_608
/** Days that a list of players is kept. */
export const LIST_DAYS = 7
/** The most players that one grant job may reach, and how many it may reach unless its request says so. */
export const MAX_GRANT_PLAYERS = 1_000_000
export const DEFAULT_GRANT_PLAYERS = 100_000
/** Grant jobs of an environment that have not ended. */
export const MAX_GRANT_JOBS = 100
/** The limits of webhook calls (contract 8), which a provider may lower. */
export const MIN_WEBHOOK_TIMEOUT_MS = 100
export const MAX_WEBHOOK_TIMEOUT_MS = 3_000
export const MAX_WEBHOOK_ATTEMPTS = 3
export const MAX_BREAKER_AFTER = 1_000
/** A ticket holds the claims of a login, among others. */
export const MAX_TICKET = 16_384
/** The highest limit that an environment can set for the sessions of a player. */
export const MAX_SESSIONS = 100
/** The longest delay of the deletion that a player asks for. The database has the same limit. */
export const MAX_DELETION_DAYS = 90
/** Environments of one project. Lists of environments are complete, never paged. */
export const MAX_ENVIRONMENTS = 100

/** Players of one call of a game server: those of a match. */
export const MAX_BATCH_PLAYERS = 200

/** Entries of one page of a list in GraphQL. */
export const MAX_PAGE = 200
/** Ids of one call that reads objects by their ids. */
export const MAX_NODE_IDS = 100
/** Messages of a player that have not expired. */
export const MAX_INBOX = 500
/** Messages of one page of a player's inbox, and of one call that reads or claims several. */
export const MAX_INBOX_PAGE = 100
/** The longest time until a message expires, in days. */
export const MAX_MESSAGE_DAYS = 365
export const MAX_MESSAGE_TITLE = 128
export const MAX_MESSAGE_BODY = 2_000
/** The text of a message in all of its languages, in bytes of JSON text. */
export const MAX_MESSAGE_TEXT_BYTES = 8_192

/** A note of an operator about a player, in characters. */
export const MAX_NOTE = 2_000
/** Notes about one player. */
export const MAX_NOTES = 200

/** Handles in a filter of events. */
export const MAX_HANDLES = 100
export const MAX_STREAM_CURSOR = 256
/** The longest cursor of a list over REST. */
export const MAX_LIST_CURSOR = 1_000

/** The longest range of the figures of a battle pass, in days. */
export const MAX_INSIGHT_DAYS = 366
/** The longest range of its xp by the hour, in days: more hours do not fit a chart. */
export const MAX_INSIGHT_DAYS_BY_HOUR = 31
/** Sources of xp that are listed one by one. */
export const MAX_XP_SOURCES = 100
/** The longest range of the figures of logins, in days. */
export const MAX_LOGIN_DAYS = 31
/** The longest range of logins by the hour, in days: latencies of more hours are too many rows for one answer. */
export const MAX_LOGIN_DAYS_BY_HOUR = 7
/** The longest range of the figures of calls, in days. */
export const MAX_CALL_DAYS = 2

/** Deeper nesting is refused: no request needs it, and recursive readers would overflow the stack. */
export const MAX_DEPTH = 64

/** Names of environments and of login providers (contract 2.3, contract 8). */
export const SLUG = new RegExp(`^[a-z0-9][a-z0-9_-]{0,${MAX_SLUG - 1}}$`)

/** The form of a handle, whose length is checked separately. */
export const HANDLE = /^[A-Za-z][A-Za-z0-9_.-]*$/

/** Control characters, line ends, and characters that reorder text: a log must show a name as it is. */
const UNSEEN = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u

/** The fault of a person's or a key's name; undefined for none. */
export function nameFault(text: string): string | undefined {
  if (UNSEEN.test(text)) return 'must not contain control characters'
  return text.trim() === text ? undefined : 'must not begin or end with a space'
}

/** Names of segments. */
export const SEGMENT_NAME = new RegExp(`^[a-z0-9][a-z0-9_-]{0,${MAX_SEGMENT - 1}}$`)

/** Whether a text can name an environment or a login provider. */
export const isSlug = (text: string): boolean => SLUG.test(text)

/** Whether an environment has real players, by its name. The database has the rule for clocks, too. */
export const isProduction = (environment: string): boolean => /^(prod|production|live)($|[-_0-9])/.test(environment)

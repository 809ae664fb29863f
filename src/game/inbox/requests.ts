import { MAX_INBOX_PAGE, MAX_STREAM_CURSOR, MAX_TAG } from '../../base/limits.ts'
import { idempotencyKey } from '../../declare/common.ts'
import { FOREIGN_CURSOR, readCursor } from '../../declare/cursor.ts'
import { uuids } from '../../declare/list-fields.ts'
import { int32, isUuid, mapped, optional, type RequestOf, shape, text, uuid } from '../../declare/shape.ts'

const DEFAULT_PAGE = 50
/** The name of the list in its cursors. */
export const INBOX_LIST = 'inbox'

const placeOf = (cursor: string): string | undefined => readCursor(INBOX_LIST, cursor)

export const inboxRequest = shape(
  {
    language: optional(
      text("A tag of a language, such as `pt-BR`. Default: the language of the player's profile.", { max: MAX_TAG }),
    ),
    limit: optional(
      int32(`Messages of the page: 1 to ${MAX_INBOX_PAGE}. Default: ${DEFAULT_PAGE}.`, { min: 1, max: MAX_INBOX_PAGE }),
      DEFAULT_PAGE,
    ),
    cursor: mapped(
      optional(
        text('The `cursor` of the page before. Default: the first page.', {
          max: MAX_STREAM_CURSOR,
          check: (cursor) => (isUuid(placeOf(cursor) ?? '') ? undefined : FOREIGN_CURSOR),
        }),
      ),
      // A faulty cursor was reported.
      (cursor) => (cursor === null ? null : (placeOf(cursor) ?? null)),
    ),
  },
  { name: 'InboxRequest', example: { language: 'pt-BR', limit: 20 } },
)

const EXAMPLE_ID = '019aa4c5-8c31-7d2e-b1f4-5a6c7d8e9f01'
const messageId = mapped(uuid('The `messageId` of a message.', 'InboxMessage'), (id) => id.toLowerCase())

export const claimMessageRequest = shape(
  { messageId, idempotencyKey },
  { name: 'InboxClaimRequest', example: { messageId: EXAMPLE_ID } },
)
export type ClaimMessage = RequestOf<typeof claimMessageRequest>

export const claimAllMessagesRequest = shape({ idempotencyKey }, { name: 'InboxClaimAllRequest', example: {} })

export const markMessagesReadRequest = shape(
  {
    messageIds: mapped(
      uuids(`The messages: 1 to ${MAX_INBOX_PAGE}. Unknown ones are passed over.`, {
        type: 'InboxMessage',
        min: 1,
        max: MAX_INBOX_PAGE,
      }),
      (ids) => [...new Set(ids.map((id) => id.toLowerCase()))],
    ),
  },
  { name: 'InboxReadRequest', example: { messageIds: [EXAMPLE_ID] } },
)

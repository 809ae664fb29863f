import { MAX_VIEW_NAME, MAX_VIEW_QUERY, nameFault } from '../../base/limits.ts'
import { reason } from '../../declare/common.ts'
import { mapped, oneOf, optional, shape, text, uuid } from '../../declare/shape.ts'
import { CONSOLE_PAGES } from './pages.ts'

/** What a browser writes between `?` and `#`: visible ASCII characters, the others percent-encoded. */
const QUERY = /^[!-~]*$/

const page = oneOf('The page that the view is of.', CONSOLE_PAGES)
const query = text(
  `The query of the page's address, without \`?\`: its filters and their order, up to ${MAX_VIEW_QUERY} characters. Empty for none.`,
  {
    min: 0,
    max: MAX_VIEW_QUERY,
    check: (query) =>
      QUERY.test(query) && !/[?#]/.test(query)
        ? undefined
        : 'must be the query of an address: visible ASCII characters without ? and #',
  },
)

export const sharedViewsRequest = shape({ page })
export const shareViewRequest = shape({
  page,
  name: text(`The name, unique among those of the page: 1 to ${MAX_VIEW_NAME} characters.`, {
    max: MAX_VIEW_NAME,
    check: nameFault,
  }),
  query,
  reason: optional(reason),
})
export const deleteSharedViewRequest = shape({
  sharedViewId: mapped(uuid("A shared view's id.", 'SharedView'), (id) => id.toLowerCase()),
  reason: optional(reason),
})

import { operatorList } from '../../declare/operator-read.ts'
import { CONSOLE_PAGES, READS } from './pages.ts'
import { sharedViewsRequest } from './requests.ts'

export const sharedViewReads = [
  operatorList({
    name: 'sharedViews',
    summary: 'The views of a page that are shared in the project, by their names. Those of `AUDIT_LOG` are for admins.',
    request: sharedViewsRequest,
    // Each role that reads some page has this right.
    right: 'players',
    rightFor(sent) {
      const page = CONSOLE_PAGES.find((known) => known === sent.value('page'))
      return page === undefined ? 'players' : READS[page]
    },
    rows: 'SharedView',
    size: 50,
    where: ({ caller: { projectId } }, { page }) => ({ projectId, page }),
  }),
]

import { out } from '../../declare/answer.ts'
import { operatorChange, payload } from '../../declare/operator-call.ts'
import { CONSOLE_PAGES, SHARES } from './pages.ts'
import { deleteSharedViewRequest, shareViewRequest } from './requests.ts'
import { deleteSharedView, findPage, shareView } from './shared-views.ts'

const answer = payload('SharedViewPayload', {
  sharedView: out.orNull(out.kept('SharedView'), 'The view after the change. Null for one that was deleted.'),
})

export const sharedViewCalls = [
  operatorChange({
    name: 'shareView',
    summary:
      'Shares a view of a page with everyone in the project. The shared view that has the name already gets the query. A call that is repeated changes nothing. Views of `AUDIT_LOG` are for admins.',
    request: shareViewRequest,
    answer,
    // Each role that may share on some page has this right.
    right: 'act',
    rightFor(sent) {
      const page = CONSOLE_PAGES.find((known) => known === sent.value('page'))
      // Another value is a fault, which is named to those who may share.
      return page === undefined ? 'act' : SHARES[page]
    },
    action: 'view.share',
    title: 'Share a view',
    target: 'page',
    change: shareView,
  }),
  operatorChange({
    name: 'deleteSharedView',
    formerly: 'removeSharedView',
    summary: 'Deletes a shared view for everyone. Views of `AUDIT_LOG` are for admins.',
    request: deleteSharedViewRequest,
    answer,
    // The page of the view says what else it takes.
    right: 'act',
    alsoRight: async ({ caller, service }, { sharedViewId }) =>
      SHARES[await findPage(service.operatorPool, caller.projectId, sharedViewId)],
    action: 'view.remove',
    title: 'Delete a shared view',
    target: 'sharedViewId',
    change: deleteSharedView,
  }),
]

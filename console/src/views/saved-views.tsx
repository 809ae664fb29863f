import { useState } from 'react'
import { type CombinedError, useClient, useQuery } from 'urql'
import { useSearchParams } from 'wouter'
import { MAX_SHARED_VIEWS, MAX_VIEW_NAME } from '../../../src/base/limits.ts'
import { type ConsolePage, SHARES } from '../../../src/project/shared-views/pages.ts'
import type { ResultOf } from '../graphql.ts'
import { mayOf, useOperator } from '../session/permission.tsx'
import { Button } from '../ui/button.tsx'
import { ChangeDialog } from '../ui/change-dialog.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { faultsOf, textOf } from '../ui/errors.ts'
import { Fields, useFields } from '../ui/fields.tsx'
import { Form, SubmitButton } from '../ui/form.tsx'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { Notice } from '../ui/states.tsx'
import { copy } from '../ui/text.tsx'
import { toast } from '../ui/toast.tsx'
import { MAX_VIEWS, useViews, type View, withoutView, withView } from './kept-views.ts'
import { deleteSharedViewMutation, sharedViewsQuery, shareViewMutation } from './operations.ts'

type SharedView = ResultOf<typeof sharedViewsQuery>['sharedViews'][number]

/** A list without views is read again after a change, too. */
const SHARED = { additionalTypenames: ['SharedView'] }

const namedInApi = (page: ConsolePage) => page.toUpperCase() as Uppercase<ConsolePage>

/** The menu of the views of a page, a person's own and those of the team, in which the present filters can be kept. */
export function SavedViews({ page }: { readonly page: ConsolePage }) {
  const session = useOperator()
  const { views, keep } = useViews(session.actor, page)
  const [{ data, error }, read] = useQuery({
    query: sharedViewsQuery,
    variables: { page: namedInApi(page) },
    requestPolicy: 'cache-and-network',
    context: SHARED,
  })
  const shared = data?.sharedViews ?? []
  // The limits of roles are of environments. Shared views are of the project.
  const mayShare = mayOf(session, SHARES[page])
  const [search, setSearch] = useSearchParams()
  const [isNaming, setNaming] = useState(false)
  const [deleted, setDeleted] = useState<SharedView>()
  const query = search.toString()
  const isShown = (view: View) => new URLSearchParams(view.query).toString() === query
  const shownOwn = views.find(isShown)
  const shownShared = mayShare ? shared.find(isShown) : undefined
  const show = (view: View) => () => setSearch(new URLSearchParams(view.query))
  const items: MenuItem[] = [
    ...views.map((view) => ({ name: `“${view.name}”`, ...(isShown(view) && { note: 'shown' }), run: show(view) })),
    ...shared.map((view) => ({
      name: `“${view.name}”`,
      note: isShown(view) ? 'shared, shown' : 'shared',
      run: show(view),
    })),
    ...(error
      ? [{ name: 'Read the shared views again', note: 'failed', run: () => read({ requestPolicy: 'network-only' }) }]
      : []),
    { name: 'Save this view…', run: () => setNaming(true) },
    { name: 'Copy a link to this view', run: () => void copy(location.href) },
    ...(shownOwn
      ? [
          {
            name: `Delete “${shownOwn.name}”`,
            tone: 'danger' as const,
            run: () => keep(withoutView(views, shownOwn.name)),
          },
        ]
      : []),
    ...(shownShared
      ? [
          {
            name: `Delete “${shownShared.name}” for everyone…`,
            tone: 'danger' as const,
            run: () => setDeleted(shownShared),
          },
        ]
      : []),
  ]
  return (
    <>
      <Menu name="Views" items={items} />
      {isNaming && (
        <SaveView
          page={page}
          query={query}
          own={views}
          shared={shared}
          mayShare={mayShare}
          onKeep={(name) => {
            if (keep(withView(views, { name, query }))) toast(`The view “${name}” is kept in this browser.`, 'success')
            else toast('This browser keeps nothing: its storage is full or blocked.', 'warning')
          }}
          onClose={() => setNaming(false)}
        />
      )}
      {deleted && <DeleteShared view={deleted} onClose={() => setDeleted(undefined)} />}
    </>
  )
}

function SaveView(props: {
  readonly page: ConsolePage
  readonly query: string
  readonly own: readonly View[]
  readonly shared: readonly View[]
  readonly mayShare: boolean
  /** Keeps it as the person's own. */
  readonly onKeep: (name: string) => void
  readonly onClose: () => void
}) {
  const { page, query, own, shared, mayShare, onKeep, onClose } = props
  const client = useClient()
  const fields = useFields({ name: '', isShared: false })
  const { isShared } = fields.values
  const [error, setError] = useState<CombinedError>()
  const name = fields.values.name.trim()
  const [among, most] = isShared ? [shared, MAX_SHARED_VIEWS] : [own, MAX_VIEWS]
  const replaces = among.some((view) => view.name === name)
  const isFull = !replaces && among.length >= most

  async function submit(): Promise<void> {
    if (!isShared) {
      onKeep(name)
      return onClose()
    }
    const input = { page: namedInApi(page), name, query }
    const { data, error } = await client.mutation(shareViewMutation, { input }, SHARED)
    setError(error)
    if (!data?.shareView) return
    const isSame = data.shareView.auditEntry === null
    toast(
      isSame ? `The view “${name}” is shared already.` : `The view “${name}” is shared with everyone in this project.`,
      'success',
    )
    onClose()
  }
  return (
    <Dialog title="Save this view" onClose={onClose}>
      <Form onSubmit={submit} faults={faultsOf(error)} onChange={() => setError(undefined)}>
        <Fields
          of={fields}
          list={[
            {
              name: 'name',
              label: 'Name',
              hint: hintOf({ isShared, replaces }),
              ...(isFull && { faults: [fullText({ isShared, most })] }),
              maxLength: MAX_VIEW_NAME,
              autoComplete: 'off',
              required: true,
            },
            mayShare && { kind: 'check', name: 'isShared', label: 'Share it with everyone in this project' },
          ]}
        />
        {error && faultsOf(error).length === 0 && <Notice tone="error">{textOf(error)}</Notice>}
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton disabled={name === '' || isFull}>Save</SubmitButton>
        </div>
      </Form>
    </Dialog>
  )
}

function hintOf({ isShared, replaces }: { readonly isShared: boolean; readonly replaces: boolean }): string {
  if (replaces)
    return isShared
      ? 'The shared view with this name gets the present filters, for everyone.'
      : 'The view with this name gets the present filters.'
  return isShared
    ? 'The filters and the order, for everyone who reads this page.'
    : 'The filters and the order, for you, in this browser. Others get them by a link.'
}

const fullText = ({ isShared, most }: { readonly isShared: boolean; readonly most: number }): string =>
  isShared
    ? `${most} views of this page are shared: delete one first.`
    : `You have ${most} views here: delete one first.`

function DeleteShared({ view, onClose }: { readonly view: SharedView; readonly onClose: () => void }) {
  const [{ sharedViewId, name, sharedBy }] = useState(view)
  return (
    <ChangeDialog
      title={`Delete “${name}”`}
      tone="danger"
      effect={`The view, which ${sharedBy} has shared, is gone for everyone in this project. Links to it still work.`}
      confirm="Delete the view"
      mutation={deleteSharedViewMutation}
      input={{ sharedViewId }}
      context={SHARED}
      done={`“${name}” is deleted.`}
      onClose={onClose}
    />
  )
}

import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useOperator } from '../session/permission.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Form, SubmitButton, TextField } from '../ui/form.tsx'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { copy } from '../ui/text.tsx'
import { toast } from '../ui/toast.tsx'
import { MAX_VIEW_NAME, MAX_VIEWS, useViews, withoutView, withView } from './kept-views.ts'

/** The menu of a person's views of a page, in which the present filters can be kept. */
export function SavedViews({ page }: { readonly page: string }) {
  const { actor } = useOperator()
  const { views, keep } = useViews(actor, page)
  const [search, setSearch] = useSearchParams()
  const [isNaming, setNaming] = useState(false)
  const query = search.toString()
  const shown = views.find((view) => view.query === query)
  const items: MenuItem[] = [
    ...views.map((view) => ({
      name: `“${view.name}”`,
      ...(view === shown && { note: 'shown' }),
      run: () => setSearch(new URLSearchParams(view.query)),
    })),
    { name: 'Save this view…', run: () => setNaming(true) },
    { name: 'Copy a link to this view', run: () => void copy(location.href) },
    ...(shown
      ? [{ name: `Remove “${shown.name}”`, tone: 'danger' as const, run: () => keep(withoutView(views, shown.name)) }]
      : []),
  ]
  return (
    <>
      <Menu name="Views" items={items} />
      {isNaming && (
        <SaveView
          isFull={views.length >= MAX_VIEWS}
          names={views.map(({ name }) => name)}
          onSave={(name) => {
            setNaming(false)
            if (keep(withView(views, { name, query }))) toast(`The view “${name}” is kept in this browser.`, 'success')
            else toast('This browser keeps nothing: its storage is full or blocked.', 'warning')
          }}
          onClose={() => setNaming(false)}
        />
      )}
    </>
  )
}

function SaveView(props: {
  readonly isFull: boolean
  readonly names: readonly string[]
  readonly onSave: (name: string) => void
  readonly onClose: () => void
}) {
  const { isFull, names, onSave, onClose } = props
  const [text, setText] = useState('')
  const name = text.trim()
  const replaces = names.includes(name)
  return (
    <Dialog title="Save this view" onClose={onClose}>
      <Form onSubmit={async () => onSave(name)}>
        <TextField
          label="Name"
          name="name"
          hint={
            replaces
              ? 'The view with this name gets the present filters.'
              : 'The filters and the order, for you, in this browser. Others get them by a link.'
          }
          faults={isFull && !replaces ? [`You have ${MAX_VIEWS} views here: remove one first.`] : []}
          value={text}
          onChange={setText}
          maxLength={MAX_VIEW_NAME}
          autoComplete="off"
          required
        />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <SubmitButton disabled={name === '' || (isFull && !replaces)}>Save</SubmitButton>
        </div>
      </Form>
    </Dialog>
  )
}

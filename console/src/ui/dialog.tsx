import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'

/** A modal dialog. Escape, the cross and a click outside close it. The focus then returns to where it was. */
export function Dialog(props: {
  readonly title: string
  /** Without it, nothing closes the dialog. */
  readonly onClose?: () => void
  readonly wide?: boolean
  /** Set while it shows something that is not shown again: then neither Escape nor a click outside closes it. */
  readonly stays?: boolean
  readonly children: ReactNode
}) {
  const ref = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  // Before the browser paints, so that what a person types at once goes to the first field.
  useLayoutEffect(() => {
    const dialog = ref.current
    if (!dialog || dialog.open) return
    dialog.showModal()
    dialog.querySelector<HTMLElement>('input, textarea, select')?.focus()
    return () => {
      // Closing returns the focus to the element that opened the dialog, which may be gone, as an action's button.
      dialog.close()
      const focused = document.activeElement
      if (focused === document.body || dialog.contains(focused)) document.querySelector('h1')?.focus()
    }
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, too
    <dialog
      ref={ref}
      className={props.wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={titleId}
      onClose={() => {
        // React's strict mode closes and opens each dialog once more.
        if (!ref.current?.open) props.onClose?.()
      }}
      onCancel={(event) => {
        // The browser would close it now and say so later. A dialog that is opened in between would be closed, too.
        if (event.target !== ref.current) return
        event.preventDefault()
        if (!props.stays) props.onClose?.()
      }}
      onClick={(event) => {
        if (event.target === ref.current && !props.stays) props.onClose?.()
      }}
    >
      <div className="dialog-body">
        <header>
          <h2 id={titleId}>{props.title}</h2>
          {props.onClose && (
            <button type="button" className="button quiet" aria-label="Close" onClick={props.onClose}>
              ×
            </button>
          )}
        </header>
        {props.children}
      </div>
    </dialog>
  )
}

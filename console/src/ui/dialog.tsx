import { type KeyboardEvent, type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react'
import { Button } from './button.tsx'

/**
 * A modal dialog. The cross closes it, and so do Escape and a click outside; once something is typed, these two ask
 * first. The focus then returns to where it was.
 */
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
  const isTyped = useRef(false)
  const [isAsked, setAsked] = useState(false)

  /** Whether a form of the dialog has something that closing it would lose. */
  const hasTyped = (): boolean => isTyped.current && ref.current?.querySelector('form :is(input, textarea)') != null

  function leave(): void {
    if (props.stays || !props.onClose) return
    if (hasTyped()) setAsked(true)
    else props.onClose()
  }

  function onKeyDown(event: KeyboardEvent): void {
    const isOwn = event.target instanceof Element && event.target.closest('dialog') === ref.current
    // Browsers close a dialog at the second Escape, whatever its page says. They do not when the key is taken.
    if (event.key !== 'Escape' || event.nativeEvent.isComposing || event.defaultPrevented || !isOwn || !hasTyped())
      return
    event.preventDefault()
    leave()
  }

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
        leave()
      }}
      onKeyDown={onKeyDown}
      onInput={() => {
        isTyped.current = true
      }}
      onClick={(event) => {
        if (event.target === ref.current) leave()
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
        {isAsked && (
          <div className="notice warning actions" role="alert">
            Discard what you have typed?
            <Button onClick={() => setAsked(false)}>Keep it</Button>
            <Button tone="danger" onClick={props.onClose}>
              Discard it
            </Button>
          </div>
        )}
        {props.children}
      </div>
    </dialog>
  )
}

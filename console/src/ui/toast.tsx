import { useSyncExternalStore } from 'react'
import { createPortal } from 'react-dom'

export type Tone = 'info' | 'success' | 'warning' | 'error'

interface Toast {
  readonly id: number
  readonly text: string
  readonly tone: Tone
}

const SHOWN_MS = 8_000

let toasts: readonly Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()

/** Shows a message for some seconds. Screen readers read it aloud. */
export function toast(text: string, tone: Tone = 'info'): void {
  lastId += 1
  const id = lastId
  set([...toasts.filter((one) => one.text !== text), { id, text, tone }])
  setTimeout(() => dismiss(id), SHOWN_MS)
}

const dismiss = (id: number): void => set(toasts.filter((one) => one.id !== id))

function set(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function listenToScreen(listener: () => void): () => void {
  document.addEventListener('fullscreenchange', listener)
  return () => document.removeEventListener('fullscreenchange', listener)
}

/** The messages. They are inside an element that fills the screen, since the browser shows nothing else then. */
export function Toasts() {
  const shown = useSyncExternalStore(listen, () => toasts)
  const screen = useSyncExternalStore(listenToScreen, () => document.fullscreenElement)
  const messages = (
    <section className="toasts" aria-live="polite" aria-label="Messages">
      {shown.map(({ id, text, tone }) => (
        <div key={id} className={`toast ${tone}`}>
          <span>{text}</span>
          <button type="button" className="button quiet" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ×
          </button>
        </div>
      ))}
    </section>
  )
  return screen ? createPortal(messages, screen) : messages
}

import { useEffect, useRef } from 'react'

/** Pages that are loaded or read first take their time. */
const WAIT_MS = 5_000

/** Whether the element that had the focus last was a tab. */
let wasTab = false
addEventListener('focusin', ({ target }) => {
  wasTab = target instanceof Element && target.closest('.tabs') !== null
})

/**
 * Keeps the focus in the page. Another address takes away the element that had it, and the focus would begin at the top
 * of the document again: it goes to the tab that was chosen, or to the title of the page.
 */
export function useKeptFocus(location: string): void {
  const isFirst = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: for each address
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false
      return
    }
    const isOfTab = wasTab
    const look = () => {
      if (document.activeElement !== document.body) return
      const tab = isOfTab ? document.querySelector<HTMLElement>('main .tabs [aria-current]') : null
      const found = tab ?? document.querySelector<HTMLElement>('main h1')
      found?.focus({ preventScroll: true })
    }
    const observer = new MutationObserver(look)
    const stop = () => {
      observer.disconnect()
      clearTimeout(timer)
      removeEventListener('pointerdown', stop)
      removeEventListener('keydown', stop)
    }
    const timer = setTimeout(stop, WAIT_MS)
    observer.observe(document.body, { childList: true, subtree: true })
    addEventListener('pointerdown', stop)
    addEventListener('keydown', stop)
    look()
    return stop
  }, [location])
}

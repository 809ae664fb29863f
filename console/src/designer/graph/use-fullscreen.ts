import { useEffect, useRef, useState } from 'react'

/** Shows an element on the full screen, until the person leaves it. `onChange` is called when its size has changed. */
export function useFullscreen(onChange: () => void) {
  const ref = useRef<HTMLDivElement>(null)
  const [isOn, setOn] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the same for each render
  useEffect(() => {
    function listen(): void {
      setOn(document.fullscreenElement === ref.current)
      onChange()
    }
    document.addEventListener('fullscreenchange', listen)
    return () => document.removeEventListener('fullscreenchange', listen)
  }, [])
  // A browser may refuse it, as where a policy forbids it. The page then stays as it is.
  const toggle = () =>
    void (isOn ? document.exitFullscreen() : ref.current?.requestFullscreen())?.catch(() => undefined)
  return { ref, isOn, toggle }
}

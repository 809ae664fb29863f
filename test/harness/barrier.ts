/** Holds clients until all are ready, so that they start in the same turn of the event loop. */
export function barrier(count: number): () => Promise<void> {
  let left = count
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return () => {
    left -= 1
    if (left === 0) open()
    return opened
  }
}

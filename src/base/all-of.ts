/** All results, once all have ended, so that a repeat does not meet them. Throws the first failure. */
export async function allOf<T>(running: readonly Promise<T>[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(running)
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value
  })
}

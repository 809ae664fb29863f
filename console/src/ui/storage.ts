/** Keeps a text in this browser. False when its storage is full or blocked: the page then continues without it. */
export function keepText(storage: Storage, key: string, text: string): boolean {
  try {
    storage.setItem(key, text)
    return true
  } catch {
    return false
  }
}

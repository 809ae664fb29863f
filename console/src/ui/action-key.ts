/** A new idempotency key. `crypto.randomUUID` is missing on plain HTTP. */
const newKey = (): string =>
  `console-${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`

/**
 * The idempotency key of one form. Until the service has answered, every press sends the same key: a press whose answer
 * was lost may have taken effect, even if the fields have changed since. After an answer, changed fields are another
 * action.
 */
export class ActionKey {
  #key = newKey()
  /** The fields that were answered. */
  #answered: string | undefined

  keyOf(fields: string): string {
    if (this.#answered !== undefined && this.#answered !== fields) {
      this.#key = newKey()
      this.#answered = undefined
    }
    return this.#key
  }

  onAnswer(fields: string): void {
    this.#answered = fields
  }

  /** What was asked is done: the same fields are another action from now on. */
  onDone(): void {
    this.#key = newKey()
    this.#answered = undefined
  }
}

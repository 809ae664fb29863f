/** A new idempotency key. `crypto.randomUUID` is missing on plain HTTP. */
const newKey = (): string =>
  `console-${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`

/**
 * The idempotency key of one form. Until the outcome of its key is known, every press sends the same key: a press whose
 * answer was lost may have taken effect, even if the fields have changed since. After an answer, changed fields are
 * another action.
 */
export class ActionKey {
  #key = newKey()
  /** The fields that were answered. */
  #answered: string | undefined
  /** An answer was lost. */
  #isOpen = false

  keyOf(fields: string): string {
    if (this.#answered !== undefined && this.#answered !== fields) {
      this.#key = newKey()
      this.#answered = undefined
    }
    return this.#key
  }

  onLost(): void {
    this.#isOpen = true
  }

  /** The service refused the press before it looked at the key, so that an earlier press may still have taken effect. */
  onRefusal(fields: string): void {
    if (!this.#isOpen) this.#answered = fields
  }

  /** The outcome of the key is known. */
  onAnswer(fields: string): void {
    this.#isOpen = false
    this.#answered = fields
  }

  /** The action is carried out. A later press with the same fields is another action. */
  onDone(): void {
    this.#key = newKey()
    this.#answered = undefined
    this.#isOpen = false
  }
}

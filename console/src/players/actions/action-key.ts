import { newKey } from '../../ui/keys.ts'

/**
 * The idempotency key of one dialog. Until the service has answered, every press sends the same key: a press whose
 * answer was lost may have taken effect, even if the fields have changed since. After an answer, changed fields are
 * another action.
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
}

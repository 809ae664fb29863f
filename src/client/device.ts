import { invalidRequest } from './error.ts'
import { patient, type Storage } from './storage.ts'

const BYTES = 32

/** The id by which this device signs a guest in. It is made at random, once, and kept in the storage. */
export class Device {
  readonly #storage: Storage
  readonly #key: string
  #id: Promise<string> | undefined

  constructor({ storage, prefix }: { readonly storage: Storage; readonly prefix: string }) {
    this.#storage = storage
    this.#key = `${prefix}:device`
  }

  /** Rejects when the storage cannot be read: another id would be another player. */
  id(): Promise<string> {
    const id = this.#id ?? this.#find()
    this.#id = id
    id.catch(() => {
      this.#id = undefined
    })
    return id
  }

  async #find(): Promise<string> {
    const known = await this.#stored()
    if (known) return known
    const made = newId()
    // An id that cannot be stored lasts as long as the page.
    await patient(() => this.#storage.set(this.#key, made)).catch(() => undefined)
    // Another tab may have made one at the same time.
    return (await this.#stored().catch(() => null)) || made
  }

  #stored(): Promise<string | null> {
    return patient(() => this.#storage.get(this.#key))
  }
}

/** Hexadecimal. It must not be guessed, so there is none without the platform's generator. */
function newId(): string {
  const { crypto } = globalThis as { crypto?: { getRandomValues(bytes: Uint8Array): Uint8Array } }
  if (!crypto?.getRandomValues)
    throw invalidRequest([
      { path: 'deviceId', message: 'is required where the platform has no crypto.getRandomValues' },
    ])
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

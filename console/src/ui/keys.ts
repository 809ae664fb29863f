/** A new idempotency key. `crypto.randomUUID` is missing on plain HTTP. */
export const newKey = (): string =>
  `console-${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`

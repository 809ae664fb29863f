// The parts of the platform that the library uses. Its types work where neither those of browsers nor those of Node are
// installed, as in React Native.

/** The platform's `AbortSignal`. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Own } } ? Own : AnySignal

interface AnySignal {
  readonly aborted: boolean
  readonly reason?: unknown
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** A function like the platform's `fetch`. */
export type Fetch = (url: string, request: FetchRequest) => Promise<FetchResponse>

export interface FetchRequest {
  readonly method: 'POST'
  readonly headers: Record<string, string>
  readonly body: string
  readonly signal: Signal
  readonly credentials: 'omit'
  readonly cache: 'no-store'
}

export interface FetchResponse {
  readonly ok: boolean
  readonly status: number
  readonly headers: { get(name: string): string | null }
  /** The bytes as they arrive. Null where the platform does not stream. */
  readonly body?: FetchBody | null
  text(): Promise<string>
}

export interface FetchBody {
  getReader(): { read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }> }
}

/** The part of the platform's `WebSocket` that is used. */
export interface PlatformSocket {
  onopen: (() => void) | null
  onmessage: ((event: { readonly data: unknown }) => void) | null
  onclose: ((event: { readonly code: number }) => void) | null
  onerror: (() => void) | null
  send(text: string): void
  close(): void
}

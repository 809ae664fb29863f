/** The span of a call or of work for it, as far as the service needs to know it. */
export interface Span {
  /** W3C Trace Context, for calls that this one makes. */
  readonly traceparent: string
  readonly traceId: string
  set(name: string, value: string | number): void
  end(error?: string): void
}

export interface Tracing {
  /** Runs a call in a span of its own: the child of a `traceparent` header, or the root of a trace. */
  call<T>(name: string, traceparent: string | undefined, work: (span: Span) => T): T
  /** The span of the call that is being served. */
  active(): Span | undefined
  /** Begins a call of another service for the active call. */
  begin(name: string): Span
  /** A group commit that has ended, with links to the calls that it carried. */
  group(startedMs: number, size: number, calls: readonly (Span | undefined)[]): void
  /** Sends what is left. */
  close(): Promise<void>
}

let current: Tracing | null = null

/** Null unless traces are configured. Calls then pay for one look at a variable. */
export const tracing = (): Tracing | null => current

export function setTracing(next: Tracing | null): void {
  current = next
}

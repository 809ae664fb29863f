/** The span of a call or of work for it, as far as the service needs to know it. */
export interface Span {
  readonly traceId: string
  readonly headers: TraceHeaders
  set(name: string, value: string | number): void
  end(error?: string): void
}

/** W3C Trace Context: the span of the caller, and the data that the systems before it pass on. */
export interface TraceHeaders {
  readonly traceparent?: string
  readonly tracestate?: string
}

export interface Tracing {
  /** Runs a call in a span of its own: the child of the caller's, or the root of a trace. */
  call<T>(name: string, caller: TraceHeaders, work: (span: Span) => T): T
  active(): Span | undefined
  /** Begins a call of another service for the active call. */
  begin(name: string): Span
  /** Records a group commit that has ended, with links to the calls that it carried. */
  group(startedMs: number, size: number, calls: readonly (Span | undefined)[]): void
  close(): Promise<void>
}

let current: Tracing | null = null

/** Null unless traces are configured. Calls then pay for one look at a variable. */
export const tracing = (): Tracing | null => current

export function setTracing(next: Tracing | null): void {
  current = next
}

/** The headers among a caller's members, which may have any type. */
export function traceHeadersOf(members: unknown): TraceHeaders {
  const { traceparent, tracestate } = (members ?? {}) as Readonly<Record<string, unknown>>
  return {
    ...(typeof traceparent === 'string' && { traceparent }),
    ...(typeof tracestate === 'string' && { tracestate }),
  }
}

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Span as OtelSpan, Context as TraceContext } from '@opentelemetry/api'
import type { Span, TraceHeaders, Tracing } from '../base/tracing.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Whether the standard variables of OpenTelemetry ask for traces. */
export function wantsTraces(env: Env): boolean {
  const { OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT } =
    env
  return (
    OTEL_SDK_DISABLED?.toLowerCase() !== 'true' &&
    ['', 'otlp'].includes(OTEL_TRACES_EXPORTER ?? '') &&
    Boolean(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || OTEL_EXPORTER_OTLP_ENDPOINT || OTEL_TRACES_EXPORTER)
  )
}

export interface TracesOptions {
  /** Called when spans could not be sent. They are dropped. */
  readonly onError: (error: unknown) => void
}

const CLOSE_TIMEOUT_MS = 3_000

/**
 * Traces over OTLP, as the standard variables of OpenTelemetry configure them. The packages are loaded only here. Spans
 * wait in a bounded queue, so that an unreachable collector does not delay calls.
 */
export async function createTraces({ onError }: TracesOptions): Promise<Tracing> {
  const [api, core, { detectResources, envDetector, resourceFromAttributes }, sdk, { OTLPTraceExporter }] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/core'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace-base'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ])
  core.setGlobalErrorHandler(onError)
  const provider = new sdk.BasicTracerProvider({
    // OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME win.
    resource: resourceFromAttributes({ 'service.name': 'tierway' }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanProcessors: [new sdk.BatchSpanProcessor(new OTLPTraceExporter())],
  })
  const tracer = provider.getTracer('tierway')
  const storage = new AsyncLocalStorage<CallSpan>()

  class CallSpan implements Span {
    readonly own: OtelSpan

    constructor(own: OtelSpan) {
      this.own = own
    }

    get traceId(): string {
      return this.own.spanContext().traceId
    }

    get headers(): TraceHeaders {
      const { traceId, spanId, traceFlags, traceState } = this.own.spanContext()
      const tracestate = traceState?.serialize()
      return {
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        ...(tracestate && { tracestate }),
      }
    }

    set(name: string, value: string | number): void {
      this.own.setAttribute(name, value)
    }

    end(error?: string): void {
      if (error !== undefined) this.own.setStatus({ code: api.SpanStatusCode.ERROR, message: error })
      this.own.end()
    }
  }

  function contextOf({ traceparent, tracestate }: TraceHeaders): TraceContext {
    const parent = traceparent === undefined ? null : core.parseTraceParent(traceparent)
    if (!parent) return api.ROOT_CONTEXT
    const traceState = tracestate === undefined ? undefined : new core.TraceState(tracestate)
    return api.trace.setSpanContext(api.ROOT_CONTEXT, { ...parent, ...(traceState && { traceState }), isRemote: true })
  }

  return {
    call(name, caller, work) {
      const span = new CallSpan(tracer.startSpan(name, { kind: api.SpanKind.SERVER }, contextOf(caller)))
      return storage.run(span, work, span)
    },
    active: () => storage.getStore(),
    begin(name) {
      const parent = storage.getStore()
      const context = parent ? api.trace.setSpan(api.ROOT_CONTEXT, parent.own) : api.ROOT_CONTEXT
      return new CallSpan(tracer.startSpan(name, { kind: api.SpanKind.CLIENT }, context))
    },
    group(startedMs, size, calls) {
      const links = [...new Set(calls)].flatMap((span) =>
        span instanceof CallSpan ? [{ context: span.own.spanContext() }] : [],
      )
      if (links.length === 0) return
      const startTime = Date.now() - (performance.now() - startedMs)
      tracer
        .startSpan('group commit', { startTime, links, attributes: { 'tierway.commands': size } }, api.ROOT_CONTEXT)
        .end()
    },
    async close() {
      const timeout = new Promise((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS).unref())
      await Promise.race([provider.shutdown().catch(onError), timeout])
    },
  }
}

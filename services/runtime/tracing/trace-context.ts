/** W3C Trace Context §3.2, version 00: trace, span and whether it is recorded. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/
const SAMPLED = 1

/** The shape of every version: what is handed on without being read. */
const ANY_VERSION = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** Whether something can be handed on as a `traceparent`, also of a version that is not known here. */
export const isTraceparent = (value: unknown): value is string =>
  typeof value === 'string' && ANY_VERSION.test(value)

export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  /** Whether its writer records the trace. */
  readonly isSampled: boolean
}

/** Reads a `traceparent`; undefined for a text that is none. */
export function readTraceparent(text: string | undefined): TraceContext | undefined {
  const match = text === undefined ? null : TRACEPARENT.exec(text)
  if (match === null) return undefined
  const [, traceId = '', spanId = '', flags = ''] = match
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED }
}

export const traceparentOf = ({ traceId, spanId, isSampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`

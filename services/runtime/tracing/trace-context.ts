/** The shape of a W3C `traceparent` of any version: it is handed on without being read. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** Whether something can be handed on as a `traceparent`. */
export const isTraceparent = (value: unknown): value is string =>
  typeof value === 'string' && TRACEPARENT.test(value)

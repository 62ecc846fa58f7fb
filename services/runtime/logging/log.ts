import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'

/** Never written, wherever in a logged object they stand. */
const REDACTED = [
  'authorization',
  'cookie',
  '["x-payment"]',
  '["payment-signature"]',
  'secret',
  'token',
  'key',
  'password',
].flatMap((name) => [
  name,
  name.startsWith('[') ? `*${name}` : `*.${name}`,
  name.startsWith('[') ? `*.headers${name}` : `*.headers.${name}`,
])

/**
 * The logged part of an error: its message, and no member that a library adds, which may be a server's answer with the request that
 * led to it.
 */
function describeError(error: unknown): object | string {
  if (!(error instanceof Error)) return String(error)
  const { type, message, stack, code } = pino.stdSerializers.err(error)
  const parts: unknown = 'errors' in error ? error.errors : []
  const errors = Array.isArray(parts) ? parts.map(describeError) : []
  return { type, message, stack, code, ...(errors.length > 0 && { errors }) }
}

/** JSON lines on standard error; standard output is for people and data. */
export function createLog(level: string, destination: DestinationStream = standardError()): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      redact: { paths: REDACTED, censor: '(not shown)' },
    },
    destination,
  )
}

/**
 * Written at once, and dropped where it cannot be: a full disk behind standard error must not stop the
 * service that reports it.
 */
function standardError(): DestinationStream {
  const destination = pino.destination({ dest: 2, sync: true })
  destination.on('error', () => undefined)
  return destination
}

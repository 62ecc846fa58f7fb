import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import { type ErrorCode, isServiceError } from '../../../contracts/errors/errors.ts'

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
  const { type, code, ...whole } = pino.stdSerializers.err(error)
  // The message of a ServiceError says why; its cause may quote the address and the answer of another server.
  const { message, stack } = isServiceError(error) ? error : whole
  const parts: unknown = 'errors' in error ? error.errors : []
  const errors = Array.isArray(parts) ? parts.map(describeError) : []
  return { type, message, stack, code, ...(errors.length > 0 && { errors }) }
}

/** A store that does not answer fails every part that uses it, many times a second. It is warned of this often. */
const STORE_WARNING_MS = 10_000
const WARN = 40

/** Whether a line warns of a store for which a line was written lately. */
function createWarningLimit() {
  const writtenAt = new Map<string, number>()
  return (about: unknown, level: number): boolean => {
    const error = typeof about === 'object' && about !== null && 'err' in about ? about.err : undefined
    if (level !== WARN || !isServiceError(error) || !STORE_SILENT.has(error.code)) return false
    const now = performance.now()
    if (now - (writtenAt.get(error.code) ?? Number.NEGATIVE_INFINITY) < STORE_WARNING_MS) return true
    writtenAt.set(error.code, now)
    return false
  }
}

const STORE_SILENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['store_unavailable', 'outcome_unknown'])

/** JSON lines on standard error; standard output is for people and data. */
export function createLog(level: string, destination: DestinationStream = standardError()): Logger {
  const isRepeated = createWarningLimit()
  return pino(
    {
      level,
      hooks: {
        logMethod(line, write, of) {
          if (!isRepeated(line[0], of)) write.apply(this, line)
        },
      },
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

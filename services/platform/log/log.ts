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
 * JSON lines on standard error; standard output is for people and data.
 *
 * @example createLog('info').info({ port: 8402 }, 'listening')
 */
export function createLog(level: string, destination: DestinationStream = standardError()): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
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

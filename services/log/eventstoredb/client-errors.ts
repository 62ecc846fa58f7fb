import type { ErrorType } from '@eventstore/db-client'
import type { Metadata } from '@grpc/grpc-js'
import { type ErrorCode, ServiceError } from '../../../contracts/errors/errors.ts'

/** Status codes of gRPC that are distinguished here. */
const GRPC = { invalidArgument: 3, permissionDenied: 7, unimplemented: 12, unauthenticated: 16 } as const

/** The server's `exception` names, as the client passes them in `type`. */
type ClientErrorType = `${ErrorType}`

/** Tells what is known of a failed call's error, which is one of the client or of gRPC. */
export function describeClientError(error: unknown) {
  if (!(error instanceof Error)) return { type: undefined, code: undefined, message: String(error) }
  const { type, metadata } = error as { type?: unknown; metadata?: Partial<Metadata> }
  const name = type ?? metadata?.get?.('exception')[0]
  const code = 'code' in error && typeof error.code === 'number' ? error.code : undefined
  return { type: typeof name === 'string' ? name : undefined, code, message: error.message }
}

export const isClientError = (error: unknown, type: ClientErrorType): boolean =>
  describeClientError(error).type === type

/** Texts of 23.10, then of 24.10 and later. */
const INVALID_POSITION =
  /Unexpected Read\w*Result: Error|Exception was thrown by handler|Read\w*Result: InvalidPosition|from an invalid position/

/** Whether the server refused a read or a subscription from a position at which no record begins. */
export const isInvalidPosition = (error: unknown): boolean =>
  INVALID_POSITION.test(describeClientError(error).message)

/** The server ended a subscription because more than a few events waited for it: nothing is wrong, it is resumed. */
export const isTooSlow = (error: unknown): boolean =>
  /consumer too slow/i.test(describeClientError(error).message)

/** Refusals of a server that denies access: the cause, in words for its operator. */
const DENIALS: readonly (readonly [RegExp, string])[] = [
  [/UNAUTHENTICATED/i, 'it does not know the user and password of EVENTSTORE_URL'],
  [/PERMISSION_DENIED|access denied/i, 'the user of EVENTSTORE_URL has no right to this'],
  [/certificate has expired/i, 'its certificate has expired'],
  [/altnames|not in the cert's list/i, 'its certificate is not for the host that EVENTSTORE_URL names'],
  [
    /unable to (?:verify|get)|self[- ]signed|unknown ca/i,
    'its certificate is of an authority that is not known here; name the file with tlsCaFile in EVENTSTORE_URL',
  ],
  [
    /wrong version number|SSL routines/i,
    'it speaks no TLS there, which EVENTSTORE_URL asks for; tls=false does without',
  ],
]

/** Why a server does not let this service in, where that is what failed. */
function denialOf(error: unknown): string | undefined {
  const { type, code, message } = describeClientError(error)
  if (type === 'access-denied' || code === GRPC.permissionDenied) return DENIALS[1]?.[1]
  if (code === GRPC.unauthenticated) return DENIALS[0]?.[1]
  return DENIALS.find(([pattern]) => pattern.test(message))?.[1]
}

/** Messages of calls that never reached a server: no connection was made. */
const UNREACHED = /no connection established|closed before call started|name resolution failed/i
/** The server turned the call away at the door. It has no type and, on some paths, no code of its own: only the text tells. */
const TURNED_AWAY = /server is (?:(?:too )?busy|not ready)/i

const NOT_WRITTEN_TYPES: ReadonlySet<string> = new Set(['not-leader', 'access-denied'])
const NOT_WRITTEN_CODES: ReadonlySet<number> = new Set(Object.values(GRPC))

/**
 * The error of a failed append, for the caller. Unless it is surely unwritten, it is `append_unknown`: taking a
 * written append for a failed one loses its event, the reverse costs one repeat.
 */
export function appendError(error: unknown, stream: string): ServiceError {
  const { type, code, message } = describeClientError(error)
  const failureError = (failure: ErrorCode, what: string): ServiceError =>
    new ServiceError(failure, {
      message: `append to ${stream}: ${what}`,
      cause: error,
      isForCallers: false,
    })
  if (type === 'maximum-append-size-exceeded') return failureError('payload_too_large', message)
  if (type === 'stream-deleted') {
    return failureError('stream_erased', 'the stream was tombstoned and takes no events ever again')
  }
  const denial = denialOf(error)
  if (denial !== undefined) return failureError('store_denied', `not written: ${denial}`)
  const isNotWritten =
    (type !== undefined && NOT_WRITTEN_TYPES.has(type)) ||
    (code !== undefined && NOT_WRITTEN_CODES.has(code)) ||
    UNREACHED.test(message) ||
    TURNED_AWAY.test(message)
  return isNotWritten
    ? failureError('store_unavailable', `not written, the server answered "${message}"`)
    : failureError('append_unknown', `may have been written, the server answered "${message}"`)
}

/** A read or a subscription that failed: nothing is lost, so there is one answer to all causes but a closed door. */
export function readError(error: unknown, what: string): ServiceError {
  if (error instanceof ServiceError) return error
  const denial = denialOf(error)
  if (denial !== undefined) {
    return new ServiceError('store_denied', { message: `${what}: ${denial}`, cause: error })
  }
  const { message } = describeClientError(error)
  return new ServiceError('store_unavailable', {
    message: `${what}: the server answered "${message}"`,
    cause: error,
  })
}

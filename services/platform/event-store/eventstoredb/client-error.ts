import { type ErrorCode, ServiceError } from '../../../../contracts/errors.ts'

/** Status codes of gRPC that are told apart here. */
const GRPC = { invalidArgument: 3, permissionDenied: 7, unimplemented: 12, unauthenticated: 16 } as const

/** The server's `exception` names that are told apart here, as the client hands them over in `type`. */
export type ClientErrorType =
  | 'wrong-expected-version'
  | 'stream-not-found'
  | 'stream-deleted'
  | 'maximum-append-size-exceeded'
  | 'not-leader'
  | 'access-denied'

/** What can be known of a failed call: the client rejects with its own errors and with raw gRPC errors. */
export interface ClientError {
  /** A {@link ClientErrorType}, another name of the client's, or undefined for a raw gRPC error. */
  readonly type: string | undefined
  /** gRPC status code, where there was one. */
  readonly code: number | undefined
  readonly message: string
}

export function describeClientError(error: unknown): ClientError {
  if (!(error instanceof Error)) return { type: undefined, code: undefined, message: String(error) }
  const type = 'type' in error && typeof error.type === 'string' ? error.type : undefined
  const code = 'code' in error && typeof error.code === 'number' ? error.code : undefined
  return { type, code, message: error.message }
}

export const isClientError = (error: unknown, type: ClientErrorType): boolean =>
  describeClientError(error).type === type

/**
 * Messages of calls that never reached a log: no connection was made, or the server turned the call away
 * at the door. "Server Is Busy" has no type and, on some paths, no code of its own: only the text tells.
 */
const TURNED_AWAY =
  /no connection established|closed before call started|name resolution failed|server is (?:(?:too )?busy|not ready)/i

const NOT_WRITTEN_TYPES: ReadonlySet<string> = new Set(['not-leader', 'access-denied'])
const NOT_WRITTEN_CODES: ReadonlySet<number> = new Set(Object.values(GRPC))

/**
 * What a failed append means to the caller. Whatever is not surely unwritten is `append_unknown`: taking a
 * written append for a failed one loses its event, the reverse costs one repeat.
 *
 * @example appendFailure(error, 'verdict-SIM.BTC.1m').code === 'append_unknown'
 */
export function appendFailure(error: unknown, stream: string): ServiceError {
  const { type, code, message } = describeClientError(error)
  const fail = (failure: ErrorCode, what: string): ServiceError =>
    new ServiceError(failure, { message: `append to ${stream}: ${what}`, cause: error })
  if (type === 'maximum-append-size-exceeded') return fail('append_too_large', message)
  if (type === 'stream-deleted') {
    return fail('stream_erased', 'the stream was tombstoned in EventStoreDB and takes no events ever again')
  }
  const isNotWritten =
    (type !== undefined && NOT_WRITTEN_TYPES.has(type)) ||
    (code !== undefined && NOT_WRITTEN_CODES.has(code)) ||
    TURNED_AWAY.test(message)
  return isNotWritten
    ? fail('store_unavailable', `not written, EventStoreDB answered "${message}"`)
    : fail('append_unknown', `may have been written, EventStoreDB answered "${message}"`)
}

/** A read or a subscription that failed: nothing is lost, so there is one answer to all causes. */
export function readFailure(error: unknown, what: string): ServiceError {
  if (error instanceof ServiceError) return error
  const { message } = describeClientError(error)
  return new ServiceError('store_unavailable', {
    message: `${what}: EventStoreDB answered "${message}"`,
    cause: error,
  })
}

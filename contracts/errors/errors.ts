import type { JsonObject } from '../infra/json.ts'
import { LIMITS } from '../limits.ts'
import { ACCOUNT_ERRORS } from './account-errors.ts'
import { defineErrors, type ErrorDefinition } from './error-definition.ts'
import { KNOWLEDGE_ERRORS } from './knowledge-errors.ts'
import { PAYMENT_ERRORS } from './payment-errors.ts'
import { PROOF_ERRORS } from './proof-errors.ts'
import { STORE_ERRORS } from './store-errors.ts'
import { WEBHOOK_ERRORS } from './webhook-errors.ts'

export type { ErrorDefinition } from './error-definition.ts'

/** Every refusal of the service. `docs/errors.md` is generated from it. */
export const ERRORS = defineErrors({
  invalid_request: {
    status: 400,
    message: 'A parameter or the body is not valid.',
    nextStep: 'Correct the field named in `details` and send the request again.',
  },
  unauthorized: {
    status: 401,
    exitCode: 12,
    message: 'The credential is missing or not valid.',
    nextStep: 'Send `Authorization: Bearer …` with a valid token.',
  },
  cross_site: {
    status: 403,
    message: 'This form was not sent by a page of this service.',
    nextStep: 'Open the page here and send the form from there.',
  },
  not_found: {
    status: 404,
    message: 'There is nothing at this address.',
    nextStep: 'Check the path; `GET /` lists what is served.',
  },
  method_not_allowed: {
    status: 405,
    message: 'This address does not take this method.',
    nextStep: 'Use a method that the `Allow` header names.',
  },
  request_timeout: {
    status: 408,
    message: 'The request did not arrive whole in time.',
    nextStep: 'Send it again, headers and body without a pause.',
  },
  payload_too_large: {
    status: 413,
    message: 'The request is too large.',
    nextStep: 'Send less; the limit is in the message.',
  },
  uri_too_long: {
    status: 414,
    message: 'The address is longer than is read here.',
    nextStep: 'Ask for less at a time: fewer values in a filter, or several requests.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'The body is of a type that is not read here.',
    nextStep: 'Send JSON with `Content-Type: application/json`.',
  },
  headers_too_large: {
    status: 431,
    message: `The address and the headers are longer than ${LIMITS.requestHeaderBytes} bytes together, the most that are read.`,
    nextStep: 'Leave out headers that are not needed, cookies first; the limit is in the message.',
  },
  internal_error: {
    status: 500,
    isInner: true,
    exitCode: 1,
    message: 'Something failed that should not have.',
    nextStep: 'Try again; if it stays, report the `request_id`.',
  },
  invariant_broken: {
    status: 500,
    isInner: true,
    exitCode: 1,
    message: 'The service found its own state inconsistent and stopped this act.',
    nextStep: 'Report the `request_id`; trying again does not help before it is mended.',
  },
  shutting_down: {
    status: 503,
    message: 'This process is shutting down.',
    nextStep: 'Send the request again; another process or the next start answers it.',
  },
  event_invalid: {
    status: 500,
    isInner: true,
    message: 'An event or a stream name was refused before it was appended.',
    nextStep: 'This is a fault of the service; report it with the message.',
  },
  event_unreadable: {
    status: 500,
    isInner: true,
    exitCode: 1,
    message: 'An event in the log cannot be read by this release.',
    nextStep: 'Run the release that wrote it, or a newer one.',
  },
  revision_conflict: {
    status: 409,
    isInner: true,
    message: 'The stream is not at the expected revision.',
    nextStep: 'Read the stream again and decide anew.',
  },
  idempotency_conflict: {
    status: 409,
    isInner: true,
    message: 'The same event id was used for other content.',
    nextStep: 'Use a new id for a new fact.',
  },
  stream_erased: {
    status: 409,
    isInner: true,
    message: 'The stream was erased and takes no further events.',
    nextStep: 'Nothing can be added to what was forgotten; begin anew under another name.',
  },
  append_too_large: {
    status: 413,
    isInner: true,
    message: 'The append is larger than the log takes.',
    nextStep: 'Split it, or store less in one event.',
  },
  append_unknown: {
    status: 503,
    isInner: true,
    exitCode: 5,
    message: 'The log did not confirm an append; it may or may not have happened.',
    nextStep: 'Repeat it with the same ids and the same expected revision.',
  },
  outcome_unknown: {
    status: 503,
    exitCode: 5,
    message: 'Whether this was carried out is not known yet; it may have happened or not.',
    nextStep:
      'Send the very same request again, with the same Idempotency-Key or payment where it has one: then it happens once. Where it has none, look first whether it happened.',
  },
  store_unavailable: {
    status: 503,
    isInner: true,
    exitCode: 5,
    message: 'The event store does not answer or takes nothing more at the moment.',
    nextStep: 'Try again shortly; see `/readyz` for its state.',
  },
  ...PROOF_ERRORS,
  ...STORE_ERRORS,
  bus_unavailable: {
    status: 503,
    isInner: true,
    exitCode: 9,
    message: 'The message bus does not answer.',
    nextStep: 'Check NATS_URL and the server behind it.',
  },
  cache_unavailable: {
    status: 503,
    isInner: true,
    exitCode: 9,
    message: 'The cache does not answer.',
    nextStep: 'Check REDIS_URL and the server behind it.',
  },
  config_invalid: {
    status: 500,
    exitCode: 2,
    message: 'A setting cannot be used.',
    nextStep: 'Correct the setting named in the message; docs/settings.md lists them all.',
  },
  market_data_missing: {
    status: 503,
    exitCode: 3,
    message: 'There is no market data where it was looked for.',
    nextStep:
      'Point MARKET_DATA (or --data) at a folder with candle files; docs/market-data.md shows the format.',
  },
  market_data_damaged: {
    status: 503,
    exitCode: 4,
    message: 'A market data file cannot be read.',
    nextStep: 'Repair or remove the row or column named in the message.',
  },
  insufficient_history: {
    status: 422,
    message: 'The series has too few closed bars for a verdict.',
    nextStep: 'Choose a shorter timeframe, or wait until the series has at least 500 closed bars.',
  },
  unknown_exchange: {
    status: 422,
    message: 'This exchange is not monitored here.',
    nextStep: 'Choose one of the exchanges in `details.available`.',
  },
  unknown_coin: {
    status: 422,
    message: 'The exchange does not list this coin.',
    nextStep: 'Choose one of the coins in `details.available`, or another exchange.',
  },
  unknown_timeframe: {
    status: 422,
    message: 'This is not a timeframe, or the series does not come in it.',
    nextStep: 'Choose one of the timeframes in `details.available`.',
  },
  unknown_tool: {
    status: 404,
    message: 'There is no tool of this name.',
    nextStep: 'Choose one of the tools in `details.available`.',
  },
  stale_market_data: {
    status: 503,
    message: 'The newest bar of the series is too old to answer from.',
    nextStep: 'Try again when the market data is fresh; see `/readyz` for the state of the venue.',
  },
  venue_unavailable: {
    status: 503,
    message: 'The exchange does not answer at the moment.',
    nextStep: 'Try again shortly, or choose another exchange; see `/readyz` for the state of each.',
  },
  series_loading: {
    status: 503,
    message: 'The series was not followed yet and is being loaded.',
    nextStep: 'Ask again in a few seconds.',
  },
  too_many_series: {
    status: 503,
    message: 'No further series can be followed at the moment.',
    nextStep: 'Ask for a monitored series, or try again within the hour.',
  },
  engine_unavailable: {
    status: 503,
    isInner: true,
    message: 'No process that computes verdicts answers at the moment.',
    nextStep: 'Try again shortly; see `/readyz`.',
  },
  verdict_unknown: {
    status: 404,
    exitCode: 13,
    message: 'There is no recorded verdict with this id.',
    nextStep: 'Check the id; it stands in the answer of the tool and in every replayed row.',
  },
  too_many_streams: {
    status: 503,
    message: 'This process holds no further stream or waiting request at the moment.',
    nextStep: 'Try again in a while, or page through the replay with `after`.',
  },
  server_unreachable: {
    status: 503,
    exitCode: 14,
    message: 'The server that a command asked does not answer.',
    nextStep: 'Check the address that was given, and that the service runs there.',
  },
  key_unknown: {
    status: 401,
    message: 'This API key does not exist or was revoked.',
    nextStep:
      'Check the key, or sign in for a new one; without a key the free allowance of your address applies.',
  },
  key_unverifiable: {
    status: 503,
    message: 'The API key could not be checked at the moment.',
    nextStep: 'Send the same request again shortly; nothing was charged.',
  },
  quota_exhausted: {
    status: 429,
    message: 'No calls are left in this window.',
    nextStep: 'Wait until `details.resets_at`, or choose a larger plan.',
  },
  rate_limited: {
    status: 429,
    message: 'Too many requests in a short time.',
    nextStep: 'Wait for the time in `Retry-After`, then go on more slowly.',
  },
  idempotency_mismatch: {
    status: 409,
    message: 'This Idempotency-Key was used for another request.',
    nextStep: 'Use a new key for a new request, or repeat the first request as it was.',
  },
  ...ACCOUNT_ERRORS,
  account_unknown: {
    status: 404,
    message: 'There is no such account.',
    nextStep: 'Check the account id; the command line lists accounts.',
  },
  ...PAYMENT_ERRORS,
  ...WEBHOOK_ERRORS,
  ...KNOWLEDGE_ERRORS,
  lease_lost: {
    status: 503,
    message: 'Another process has taken over this work.',
    nextStep: 'Stop it here; the process that has it now goes on from what is in the log.',
  },
  port_in_use: {
    status: 500,
    exitCode: 10,
    message: 'The address is already in use.',
    nextStep: 'Stop what listens there, or set PORT (or --port) to another.',
  },
  runtime_too_old: {
    status: 500,
    exitCode: 11,
    message: 'This version of Node.js, or the SQLite in it, cannot run the service.',
    nextStep: 'Run it with `npm start`, which brings its own Node.js 26, or install Node.js 26 or newer.',
  },
})

export type ErrorCode = keyof typeof ERRORS

/** An error the service means to report: a code of the registry and what happened in particular. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ErrorCode
  readonly details: JsonObject | undefined
  /** The caller's next step: the registry's, unless this error has its own. */
  readonly nextStep: string
  /** Whether callers may read its message, where its code is of what is inside. */
  readonly isForCallers: boolean

  constructor(
    code: ErrorCode,
    options: {
      message?: string
      details?: JsonObject
      cause?: unknown
      nextStep?: string
      isForCallers?: boolean
    } = {},
  ) {
    super(
      options.message ?? ERRORS[code].message,
      options.cause === undefined ? {} : { cause: options.cause },
    )
    this.code = code
    this.details = options.details
    this.nextStep = options.nextStep ?? ERRORS[code].nextStep
    this.isForCallers = options.isForCallers ?? !isInner(code)
  }
}

const isInner = (code: ErrorCode): boolean => (ERRORS[code] as ErrorDefinition).isInner === true

/**
 * An error as callers see it: an inner failure may name streams, accounts of others and servers, and is for
 * the log.
 */
export const forCallers = (
  error: ServiceError,
): Pick<ServiceError, 'code' | 'message' | 'nextStep' | 'details'> => {
  const { code } = error
  if (error.isForCallers) return error
  return { code, message: ERRORS[code].message, nextStep: ERRORS[code].nextStep, details: undefined }
}

/** The message of a caught value; anything can be thrown. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const isServiceError = (error: unknown, code?: ErrorCode): error is ServiceError =>
  error instanceof ServiceError && (code === undefined || error.code === code)

import { LIMITS } from '../limits.ts'
import type { ErrorDefinition } from './operator-errors.ts'

/** Refusals that callers meet. Codes of search and chat are capital, as callers of these two routes know them. */
export const CALLER_ERRORS = {
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
    exitCode: 13,
    message: 'There is nothing at this address.',
    nextStep: 'Check the path and the ids in it; `GET /` lists what is served.',
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
  state_conflict: {
    status: 409,
    message: 'This cannot be done in the state that it is in.',
    nextStep: 'See the message, and `details.state` if it is given.',
  },
  limit_reached: {
    status: 409,
    message: 'The account has as many of these as it may have.',
    nextStep: 'Delete one that is no longer used, or choose a larger plan, then try again.',
  },
  payload_too_large: {
    status: 413,
    message: 'The request is too large.',
    nextStep: 'Send less; the limit is in the message.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'The body is of a type that is not read here.',
    nextStep: 'Send JSON with `Content-Type: application/json`.',
  },
  range_invalid: {
    status: 416,
    message: 'The range is outside of the file.',
    nextStep: 'Ask for bytes within the length that Content-Range names.',
  },
  uri_too_long: {
    status: 414,
    message: 'The address is longer than is read here.',
    nextStep: 'Ask for less at a time: fewer values in a filter, or several requests.',
  },
  headers_too_large: {
    status: 431,
    message: `The address and the headers are longer than ${LIMITS.requestHeaderBytes} bytes together.`,
    nextStep: 'Leave out headers that are not needed, cookies first; the limit is in the message.',
  },
  rate_limited: {
    status: 429,
    message: 'Too many requests in a short time.',
    nextStep: 'Wait for the time in `Retry-After`, then go on more slowly.',
  },
  overloaded: {
    status: 503,
    message: 'This process serves no more of these at the moment.',
    nextStep: 'Try again in a while; page through a replay with `after`, or ask for a monitored series.',
  },
  shutting_down: {
    status: 503,
    message: 'This process is shutting down.',
    nextStep: 'Send the request again; another process or the next start answers it.',
  },
  internal_error: {
    status: 500,
    isInner: true,
    exitCode: 1,
    message: 'Something failed that should not have.',
    nextStep: 'Try again; if it fails again, report the `request_id`.',
  },
  outcome_unknown: {
    status: 503,
    exitCode: 5,
    message: 'Whether this was carried out is not known yet; it may have happened or not.',
    nextStep:
      'Send the same request again with the same Idempotency-Key or payment; without one, look first.',
  },
  store_unavailable: {
    status: 503,
    isInner: true,
    exitCode: 5,
    message: 'The event store does not answer or takes nothing more at the moment.',
    nextStep: 'Try again shortly; see `/readyz` for its state.',
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
  engine_unavailable: {
    status: 503,
    isInner: true,
    message: 'No process that computes verdicts answers at the moment.',
    nextStep: 'Try again shortly; see `/readyz`.',
  },
  key_unknown: {
    status: 401,
    message: 'This API key does not exist or was revoked.',
    nextStep: 'Check the key, or sign in for a new one; without a key your address has a free allowance.',
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
  idempotency_mismatch: {
    status: 409,
    message: 'This Idempotency-Key was used for another request.',
    nextStep: 'Use a new key for a new request, or repeat the first request as it was.',
  },
  account_unknown: {
    status: 404,
    message: 'There is no such account.',
    nextStep: 'Check the account id; the command line lists accounts.',
  },
  sign_in_refused: {
    status: 401,
    message: 'The e-mail address and the code do not go together, or the code has expired or been used.',
    nextStep: 'Give the code as it stands in the newest mail, within half an hour, or ask for another.',
  },
  payment_required: {
    status: 402,
    message: 'This is paid for per call.',
    nextStep: 'Sign one of the offers in `accepts` and send the request again with it (docs/paying.md).',
  },
  payment_refused: {
    status: 402,
    message: 'The payment cannot be accepted.',
    nextStep: 'See `error` for the reason, and sign one of the offers in this answer.',
  },
  payment_malformed: {
    status: 400,
    message: 'The payment header cannot be read.',
    nextStep: 'Send one payment header: base64 of the JSON that docs/paying.md describes.',
  },
  payment_mismatch: {
    status: 409,
    message: 'This authorization was used for another request.',
    nextStep: 'Repeat the request it was used for to get its answer again, or sign a new authorization.',
  },
  payment_unproven: {
    status: 403,
    message: 'The signature of this payment is public on the chain, so it opens no answer by itself.',
    nextStep: 'Send it again with `Payment-Secret`, the `_service.payment.secret` of the first answer.',
  },
  payment_pending: {
    status: 503,
    message: 'The payment is being settled, and the answer leaves when it is.',
    nextStep: 'Send the same request with the same payment again in a few seconds; it is not charged twice.',
  },
  payments_unavailable: {
    status: 503,
    // A node or a facilitator says why, and is nobody's business.
    isInner: true,
    message: 'Payments cannot be taken at the moment.',
    nextStep: 'Send the same request with the same payment again later, or use an API key.',
  },
  plan_conflict: {
    status: 409,
    message: 'A dearer plan of the account has not ended; nothing was charged.',
    nextStep: 'Buy a plan of that tier, which begins after it, or this one after `details.until`.',
  },
  invalid_content_type: {
    status: 400,
    message: 'Content-Type must be application/json, given once.',
    nextStep: 'Send `Content-Type: application/json` exactly once and a JSON body; the payment was not used.',
  },
  url_refused: {
    status: 400,
    message: 'Nothing is sent to this address.',
    nextStep:
      'Give a public HTTPS address on port 443 or 8443; the message says what is wrong with this one. For a trial on your own machine start the service with --webhooks-allow-private.',
  },
  INVALID_QUERY: {
    status: 400,
    message: 'The search cannot be read.',
    nextStep: 'Send `{"query": "…", "limit": 10}`: at least one word, and a limit from 1 to 50.',
  },
  QUERY_TOO_SHORT: {
    status: 400,
    message: 'The query is too short to search for.',
    nextStep: 'Give at least 3 characters.',
  },
  QUERY_TOO_LONG: {
    status: 400,
    message: 'The query is too long.',
    nextStep: 'Give at most 500 characters; a few words find more.',
  },
  INVALID_QUESTION: {
    status: 400,
    message: 'The question cannot be read.',
    nextStep: 'Send `{"question": "…"}`: a text with at least one word in it.',
  },
  QUESTION_TOO_SHORT: {
    status: 400,
    message: 'The question is too short to be answered.',
    nextStep: 'Give at least 5 characters.',
  },
  QUESTION_TOO_LONG: {
    status: 400,
    message: 'The question is too long.',
    nextStep: 'Give at most 500 characters; ask one thing at a time.',
  },
  INVALID_MODEL: {
    status: 400,
    message: 'There is no model of this name.',
    nextStep: 'Choose one of the models in `details.available`, or leave `model` out.',
  },
  CHAT_QUOTA_EXHAUSTED: {
    status: 429,
    message: 'No chats are left in this window.',
    nextStep: 'Wait until `details.resets_at`, choose a larger plan, or use the search.',
  },
  INTERNAL_ERROR: {
    status: 500,
    message: 'Something failed that should not have, and nothing was counted.',
    nextStep: 'Try again; if it stays, report the `request_id`.',
  },
  log_not_signed: {
    status: 503,
    message: 'There is no signed checkpoint that holds this yet.',
    nextStep: 'Ask again in ten seconds. Where it stays so, the operator finds the reason in /readyz.',
  },
} as const satisfies Record<string, ErrorDefinition>

import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { ERRORS, type ErrorCode, forCallers, ServiceError } from '../../contracts/errors/errors.ts'
import {
  faultMessage,
  type InputFault,
  type InputIssue,
  inputFaults,
} from '../../contracts/infra/input-faults.ts'
import { STATUS_CODES } from '../runtime/http/node-http.ts'
import { acceptsHtmlFirst } from './accept.ts'

/** The body of every refusal; one inside another answer is without the id of its request. */
export function errorBody(error: ServiceError, requestId?: string) {
  const { code, message, nextStep, details } = forCallers(error)
  const body = { code, message, next_step: nextStep, ...(details === undefined ? {} : { details }) }
  return requestId === undefined ? body : { ...body, request_id: requestId }
}

/** One line for each code within ten seconds: callers must not be able to flood the log. */
const causeLines = new RateLimiterMemory({ points: 1, duration: 10 })

/** Logs why a request is refused if its caller is not told. Faults of the program are logged each, elsewhere. */
export async function logCause(log: Pick<FastifyBaseLogger, 'warn'>, error: ServiceError, requestId: string) {
  const { code, cause, isForCallers } = error
  if (ERRORS[code].status === 500 || (isForCallers && cause === undefined)) return
  await causeLines.consume(code).then(
    () => log.warn({ err: error, request_id: requestId }, 'requests are refused'),
    () => undefined,
  )
}

const METHODS = ['GET', 'POST', 'DELETE', 'PATCH', 'PUT'] as const
/** Characters of the router's patterns: a path that contains them is no path to look up. */
const IS_PATTERN = /[*:()]/

/** A refusal as a page shows it. */
export interface ShownRefusal extends Pick<ServiceError, 'code' | 'message' | 'nextStep'> {
  readonly status: number
  readonly requestId: string
}

/** Sends a refusal as a page, for a caller that prefers one. */
type ShowRefusal = (reply: FastifyReply, refusal: ShownRefusal) => FastifyReply
const SHOW = Symbol('shows a refusal')

/** Answers every failure of a route in the words of the registry; the framework's own codes never show. */
export function useErrorRegistry(app: FastifyInstance, show?: ShowRefusal): void {
  // Read where an error is sent, which some routes do for themselves.
  if (show !== undefined) app.decorate(SHOW, show)
  app.setErrorHandler(answerFailure)
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? request.url
    const allowed = METHODS.filter((method) => !IS_PATTERN.test(path) && app.hasRoute({ method, url: path }))
    if (allowed.length === 0) return send(reply, request, new ServiceError('not_found'))
    const allow = allowed.includes('GET') ? ['HEAD', ...allowed] : allowed
    reply.header('allow', allow.join(', '))
    return send(reply, request, new ServiceError('method_not_allowed'))
  })
}

/** Answers a failure that was thrown, by a route or by the framework. */
export const answerFailure = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) =>
  send(reply, request, refusalFor(error, request, reply))

/** The refusal for a failure that was thrown. Its cause is logged, and the answer says when to ask again. */
export function refusalFor(error: FastifyError, request: FastifyRequest, reply: FastifyReply): ServiceError {
  const refusal = toServiceError(error, request)
  if (ERRORS[refusal.code].status === 500)
    request.log.error({ err: error, request_id: request.id }, 'request failed')
  else void logCause(request.log, refusal, request.id)
  retryLater(reply, refusal)
  return refusal
}

/** The refusal of bytes that are no whole request, by the error code of Node. */
const UNREAD: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** Answers bytes that are not an HTTP request, so far as anybody still listens, and hangs up. */
export function refuseMalformed(error: Error, socket: Socket): void {
  const reason = 'code' in error ? String(error.code) : ''
  if (socket.writable && reason !== 'ECONNRESET') {
    const code = UNREAD[reason] ?? 'invalid_request'
    const { status, message } = ERRORS[code]
    const body = JSON.stringify({ code, message })
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    )
  }
  socket.destroySoon()
}

/** Paths of programs, which are refused as JSON to every caller. */
const IS_FOR_PROGRAMS = /^\/(?:api|log|mcp|sealed|x402|\.well-known)(?:[/?]|$)/

/** A navigation of a browser, or a form of a page; a script or a program has no use for a page. */
const isForPeople = (request: FastifyRequest): boolean =>
  !IS_FOR_PROGRAMS.test(request.url) &&
  acceptsHtmlFirst(request) &&
  (['GET', 'HEAD'].includes(request.method) ||
    request.headers['content-type'] === 'application/x-www-form-urlencoded')

/** Says when to ask again what is refused for now (RFC 9110 §10.2.3). */
export function retryLater(reply: FastifyReply, { code, details }: ServiceError): void {
  const { status } = ERRORS[code]
  const seconds = details?.retry_after_s
  if (status === 429 || status === 503 || typeof seconds === 'number')
    reply.header('retry-after', Math.max(1, Math.ceil(Number(seconds ?? 1))))
}

function send(reply: FastifyReply, request: FastifyRequest, error: ServiceError): FastifyReply {
  const { status } = ERRORS[error.code]
  const show = isForPeople(request) ? (request.server as { [SHOW]?: ShowRefusal })[SHOW] : undefined
  if (show === undefined) return reply.code(status).send(errorBody(error, request.id))
  const { code, message, nextStep } = forCallers(error)
  reply.code(status).header('cache-control', 'no-store')
  return show(reply, { status, code, message, nextStep, requestId: request.id })
}

/** Framework failures that callers can cause, with the problem of the body; all others are `invalid_request`. */
const FRAMEWORK_CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
}
const BODY_PROBLEMS: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'is not JSON',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'is not as long as Content-Length says',
}
/** Names of the parts of a request for its sender, if they differ from the framework's. */
const PARTS: Readonly<Record<string, string>> = { querystring: 'query', params: 'path' }

/** @param request names the fields that there are, for a caller that mistyped one */
export function toServiceError(error: FastifyError, request?: FastifyRequest): ServiceError {
  if (error instanceof ServiceError) return error
  if (hasZodFastifySchemaValidationErrors(error)) {
    const { validationContext: context = 'body', validation } = error
    const schemas = request?.routeOptions.schema
    const schema = schemas?.[context as keyof typeof schemas]
    return invalidRequest(
      inputFaults(validation.map(issueOf), PARTS[context] ?? context, 'this request', schema),
    )
  }
  const problem = BODY_PROBLEMS[error.code]
  if (problem !== undefined) return invalidRequest([{ field: 'body', problem }])
  if (error.statusCode === undefined || error.statusCode >= 500)
    return new ServiceError('internal_error', { cause: error })
  return new ServiceError(FRAMEWORK_CODES[error.code] ?? 'invalid_request')
}

/** The fault that the schema found, without the framework's wrapping. */
const issueOf = (fault: NonNullable<FastifyError['validation']>[number]): InputIssue => ({
  code: fault.keyword,
  path: fault.instancePath
    .split('/')
    .flatMap((part) => (part === '' ? [] : /^\d+$/.test(part) ? Number(part) : part)),
  message: fault.message ?? 'is not valid',
  keys: Array.isArray(fault.params.keys) ? fault.params.keys.map(String) : [],
})

const invalidRequest = (fields: readonly InputFault[]): ServiceError =>
  new ServiceError('invalid_request', { message: faultMessage(fields), details: { fields } })

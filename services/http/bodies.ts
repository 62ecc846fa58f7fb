import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { repetitionIn } from '../../contracts/infra/json.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler judges the type of the body itself. */
    readonly takesAnyType?: boolean
  }
}

/** Every value of a header. Of several lines of one name Node keeps the first. @param name in lower case */
function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '')
  return values
}

/**
 * Refuses a request that another program may read as another one: for no host or for several (RFC 9112 §3.2), or with
 * several types of its body.
 *
 * @throws ServiceError `invalid_request`, `invalid_content_type`
 */
export function requireOneReading({ raw, routeOptions }: FastifyRequest): void {
  const { rawHeaders, httpVersion } = raw
  const hosts = valuesOf(rawHeaders, 'host')
  const isOne = hosts.length === 1 && hosts[0]?.trim() !== ''
  if (!isOne && (hosts.length > 0 || httpVersion !== '1.0')) {
    const fault = ['no Host header', 'an empty Host header'][hosts.length] ?? `${hosts.length} Host headers`
    throw new ServiceError('invalid_request', { message: `The request has ${fault}.` })
  }
  if (raw.method === 'GET' || routeOptions.config.takesAnyType === true) return
  const types = valuesOf(rawHeaders, 'content-type')
  if (types.length > 1 || types[0]?.replaceAll(/"[^"]*"/g, '').includes(',')) throw contentTypeError(types)
}

/**
 * RFC 9110 §8.3.1, for one type: parameters may follow, each a name and a value, and a second type may not, no matter what
 * joins the two.
 */
const JSON_TYPE =
  /^application\/json[ \t]*(?:;[ \t]*(?:[!#$%&'*+.^_`|~0-9a-z-]+=(?:[!#$%&'*+.^_`|~0-9a-z-]+|"[^",\\]*")[ \t]*)?)*$/i

/** @throws ServiceError `invalid_content_type` */
export function requireJsonType(rawHeaders: readonly string[]): void {
  const types = valuesOf(rawHeaders, 'content-type')
  if (types.length !== 1 || !JSON_TYPE.test(types[0]?.trim() ?? '')) throw contentTypeError(types)
}

function contentTypeError(types: readonly string[]): ServiceError {
  const given = types.map((text) => text.slice(0, 100))
  const found = given.map((text) => JSON.stringify(text)).join(' and ') || 'left out'
  return new ServiceError('invalid_content_type', {
    message: `Content-Type must be application/json, given once; it was ${found}. Nothing was charged for this request.`,
    details: { given },
  })
}

/**
 * Reads JSON bodies. Many clients say that they send JSON and send nothing: that is the same as `{}`, as it is if
 * neither a body nor its type was sent. So a route without a body accepts such a request, and a route with one says
 * which field is missing.
 */
export function useJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.trim() === '') done(null, {})
    else
      void parse(request, body, (error, value) => {
        const fault = error === null ? repetitionIn(body) : undefined
        if (fault === undefined) done(error, value)
        else done(new ServiceError('invalid_request', { message: `The body is not JSON: ${fault}.` }))
      })
  })
  app.addHook('preValidation', (request, _reply, done) => {
    request.body ??= {}
    done()
  })
}

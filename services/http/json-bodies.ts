import type { FastifyInstance } from 'fastify'
import { ServiceError } from '../../contracts/errors.ts'
import { repetitionIn } from '../../contracts/json.ts'

/**
 * Reads JSON bodies. Many clients say that they send JSON and send nothing: that is the same as `{}`, as it is where
 * neither a body nor its type was sent. So a route without a body takes such a request, and a route with one says
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
  app.addHook('onRoute', (route) => {
    if (route.schema?.body === undefined) return
    route.preValidation = [
      ...[route.preValidation ?? []].flat(),
      (request, _reply, done) => {
        request.body ??= {}
        done()
      },
    ]
  })
}

import type { FastifyInstance } from 'fastify'

/**
 * Reads JSON bodies. Many clients say that they send JSON and send nothing: that is the same as `{}`, as it is where
 * neither a body nor its type was sent. So a route without a body takes such a request, and a route with one says
 * which field is missing.
 */
export function useJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.trim() === '') done(null, {})
    else void parse(request, body, done)
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

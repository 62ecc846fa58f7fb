import type { FastifyInstance, FastifySchema, HTTPMethods } from 'fastify'
import type { z } from 'zod'
import { type Identify, sentCredential } from '../accounts/index.ts'
import { callerAs } from '../tool-calls/index.ts'
import { KEY, NO_BODY, type operation } from './openapi.ts'

/** The shapes of a route: its answer, and the parts of a request, whose fields the handler gets together. */
interface Shapes {
  readonly params?: z.ZodType
  readonly querystring?: z.ZodType
  readonly body?: z.ZodType
  readonly response?: Readonly<Record<number, z.ZodType>>
}
type Parsed<Part> = Part extends z.ZodType ? z.output<Part> : unknown

/** A function that adds routes which require a key: each answers what its handler does for the key's account. */
export function keyedRoutes(app: FastifyInstance, identify: Identify) {
  app.addHook('onRequest', async (_request, reply) => void reply.header('cache-control', 'no-store'))
  return <const Shape extends Shapes>(
    route: `${HTTPMethods & string} ${string}`,
    words: ReturnType<typeof operation>,
    shape: Shape,
    handle: (
      caller: ReturnType<typeof callerAs>,
      input: Parsed<Shape['params']> & Parsed<Shape['querystring']> & Parsed<Shape['body']>,
    ) => Promise<object | void>,
  ): void => {
    const [method, url] = route.split(' ') as [HTTPMethods, string]
    const response = shape.response ?? NO_BODY
    const schema: FastifySchema = { ...words, security: KEY, ...shape, response }
    app.route({
      method,
      url,
      schema,
      async handler({ headers, id, params, query, body }, reply) {
        const caller = callerAs(await identify(sentCredential(headers)), id)
        const input = Object.assign({}, params, query, body) as Parameters<typeof handle>[1]
        return reply.code(Number(Object.keys(response)[0])).send(await handle(caller, input))
      },
    })
  }
}

export type On = ReturnType<typeof keyedRoutes>

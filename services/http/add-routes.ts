import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  HTTPMethods,
  preHandlerAsyncHookHandler,
} from 'fastify'
import type { z } from 'zod'
import { type Identify, sentCredential } from '../accounts/index.ts'
import { isTraceparent } from '../runtime/tracing/trace-context.ts'
import { callerAs } from '../tool-calls/index.ts'
import { addressOf } from './client-address.ts'
import { KEY, NO_BODY, type OperationWords } from './openapi.ts'

type Path = `${HTTPMethods & string} ${string}`
type Answer = object | void | Promise<object | void>
/** A route: its words, the parts of a request, the shape of its answer, and its handler, which gets the fields together. */
interface Route<Caller, Params, Query, Body> extends OperationWords {
  readonly params?: Params
  readonly querystring?: Query
  readonly body?: Body
  readonly response?: Readonly<Record<number, z.ZodType>>
  /** `Cache-Control` of the answer. */
  readonly cache?: string
  readonly before?: preHandlerAsyncHookHandler
  readonly handle: (
    caller: Caller,
    input: z.output<Params> & z.output<Query> & z.output<Body>,
    reply: FastifyReply,
  ) => Answer
}

/**
 * A function that adds routes: each answers what its handler makes of the caller and the fields of the request. A route
 * without words is not described.
 *
 * @param callerOf what a handler learns of who asks
 */
export const routesFor =
  <Caller>(
    app: FastifyInstance,
    callerOf: (request: FastifyRequest) => Caller | Promise<Caller>,
    common: FastifySchema = {},
  ) =>
  <Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType>(
    path: Path,
    { cache, before, handle, response = NO_BODY, ...shape }: Route<Caller, Params, Query, Body>,
  ): void => {
    const [method, url] = path.split(' ') as [HTTPMethods, string]
    app.route({
      method,
      url,
      schema: { ...shape, ...common, response },
      ...(before && { preHandler: before }),
      async handler(request, reply) {
        const { params, query, body } = request
        const caller = await callerOf(request)
        const input = Object.assign({}, params, query, body) as Parameters<typeof handle>[1]
        const answer = await handle(caller, input, reply)
        if (cache !== undefined) reply.header('cache-control', cache)
        return reply.code(Number(Object.keys(response)[0])).send(answer)
      },
    })
  }

/** The sender of a call. @param traced a trace context for a request whose headers have none */
export const senderOf = (request: FastifyRequest, traced?: unknown) => ({
  authorization: sentCredential(request.headers),
  address: addressOf(request),
  idempotencyKey: request.headers['idempotency-key'] as string | undefined,
  traceparent: [request.headers.traceparent, traced].find(isTraceparent),
  requestId: request.id,
})

/** Adds routes that require a key: their handlers get its account. */
export function keyedRoutes(app: FastifyInstance, identify: Identify) {
  app.addHook('onRequest', async (_request, reply) => void reply.header('cache-control', 'no-store'))
  const callerOf = async ({ headers, id }: FastifyRequest) =>
    callerAs(await identify(sentCredential(headers)), id)
  return routesFor(app, callerOf, { security: KEY })
}

/** Adds routes that are open to all: their handlers get the request. */
export const openRoutes = (app: FastifyInstance) => routesFor(app, (request) => request)

export type On = ReturnType<typeof keyedRoutes>

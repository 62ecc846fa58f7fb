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
import { callerAs } from '../tool-calls/index.ts'
import { KEY, NO_BODY, type operation } from './openapi.ts'

/** The shapes of a route: its answer, and the parts of a request, whose fields the handler gets together. */
interface Shapes {
  readonly params?: z.ZodType
  readonly querystring?: z.ZodType
  readonly body?: z.ZodType
  readonly response?: Readonly<Record<number, z.ZodType>>
}
interface RouteOptions extends Shapes {
  /** `Cache-Control` of the answer. */
  readonly cache?: string
  readonly before?: preHandlerAsyncHookHandler
}
type Parsed<Part> = Part extends z.ZodType ? z.output<Part> : unknown
type Input<Route extends Shapes> = Parsed<Route['params']> &
  Parsed<Route['querystring']> &
  Parsed<Route['body']>
type Path = `${HTTPMethods & string} ${string}`
type Answer = object | void | Promise<object | void>
type Handle<Caller, Route extends Shapes> = (
  caller: Caller,
  input: Input<Route>,
  reply: FastifyReply,
) => Answer

/**
 * A function that adds routes: each answers what its handler makes of the caller and the fields of the request.
 *
 * @param callerOf what a handler learns of who asks
 */
export const routesFor =
  <Caller>(
    app: FastifyInstance,
    callerOf: (request: FastifyRequest) => Caller | Promise<Caller>,
    common: FastifySchema = {},
  ) =>
  <const Route extends RouteOptions>(
    route: Path,
    words: ReturnType<typeof operation> | undefined,
    { cache, before, ...shape }: Route,
    handle: Handle<Caller, Route>,
  ): void => {
    const [method, url] = route.split(' ') as [HTTPMethods, string]
    const response = shape.response ?? NO_BODY
    const schema: FastifySchema = { ...words, ...common, ...shape, response }
    app.route({
      method,
      url,
      schema,
      ...(before && { preHandler: before }),
      async handler(request, reply) {
        const { params, query, body } = request
        const caller = await callerOf(request)
        const input = Object.assign({}, params, query, body) as Input<Route>
        const answer = await handle(caller, input, reply)
        if (cache !== undefined) reply.header('cache-control', cache)
        return reply.code(Number(Object.keys(response)[0])).send(answer)
      },
    })
  }

/** As {@link routesFor}, for routes that the document does not have. */
export const plainRoutes = <Caller>(app: FastifyInstance, callerOf: (request: FastifyRequest) => Caller) => {
  const on = routesFor(app, callerOf)
  return <const Route extends RouteOptions>(path: Path, route: Route, handle: Handle<Caller, Route>) =>
    on(path, undefined, route, handle)
}

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

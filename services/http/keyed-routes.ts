import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, HTTPMethods } from 'fastify'
import type { z } from 'zod'
import { assert } from '../../contracts/assert.ts'
import { type Identify, sentCredential } from '../accounts/index.ts'
import { callerAs } from '../tool-calls/index.ts'
import type { Operation } from './openapi/operation.ts'

/** The shapes of a route: its answer, and the parts of a request, whose fields are given to the act together. */
interface Shapes {
  readonly params?: z.ZodType
  readonly querystring?: z.ZodType
  readonly body?: z.ZodType
  readonly response?: Readonly<Record<number, z.ZodType>>
}
type Given<Part> = Part extends z.ZodType ? z.output<Part> : unknown

/** The account of a request's key. */
type Keyed = ReturnType<typeof callerAs>

/** A function that adds routes to an app which take a key: each answers what its act does for the key's account. */
export function keyedRoutes(app: FastifyInstance, identify: Identify) {
  app.addHook('onRequest', async (_request, reply) => void reply.header('cache-control', 'no-store'))
  return <const Shape extends Shapes>(
    route: `${HTTPMethods & string} ${string}`,
    operation: Operation,
    shape: Shape,
    act: (
      caller: Keyed,
      asked: Given<Shape['params']> & Given<Shape['querystring']> & Given<Shape['body']>,
    ) => Promise<object | undefined>,
  ): void => {
    const [method, url] = route.split(' ') as [HTTPMethods, string]
    const status = Number(Object.keys(shape.response ?? { 204: undefined })[0])
    const schema: FastifySchema = { ...shape, operation }
    async function handler(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const { headers, id, params, query, body } = request
      const caller = callerAs(await identify(sentCredential(headers)), id)
      const asked = Object.assign({}, params, query, body) as Parameters<typeof act>[1]
      const answer = await act(caller, asked)
      assert(!reply.sent, 'an answer is sent once')
      return reply.code(status).send(answer)
    }
    app.route({ method, url, schema, handler })
  }
}

export type On = ReturnType<typeof keyedRoutes>

/** The answer of an act that has none. */
export const nothing = async (done: Promise<unknown>): Promise<undefined> => {
  await done
}

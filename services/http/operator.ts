import { hash, timingSafeEqual } from 'node:crypto'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ERRORS, ServiceError } from '../../contracts/errors/errors.ts'
import type { Origin } from '../../contracts/infra/event.ts'
import { createServer } from '../runtime/http/node-http.ts'

/** Connections that came in by another way than the public port. */
const doors = new WeakMap<Socket, 'health' | 'owner'>()

/** Whether a request came in where the operator's machines ask for health and metrics, and nothing else is served. */
export const isByHealthDoor = ({ raw }: FastifyRequest): boolean => doors.get(raw.socket) === 'health'

/** Whether a request came in by the operator's socket, which has no limits. */
export const isByOwnersDoor = ({ raw }: FastifyRequest): boolean => doors.get(raw.socket) === 'owner'

/** A customer's key, or a session on a page: neither means the operator, and nothing is wrong with it. */
const CUSTOMERS_KEY = /^(?:Bearer +sk_live_|Session )/i

/**
 * Whether a request comes from the operator: by the owner's door, or with the operator's token. A customer's key says
 * nothing about it.
 *
 * @throws ServiceError `unauthorized` for another credential, which is given but is not the operator's: somebody who
 *   mistypes the token is not to take what everybody sees for all there is.
 */
export function isOperator(request: FastifyRequest, operatorToken: string | undefined): boolean {
  if (isByOwnersDoor(request)) return true
  const { authorization } = request.headers
  if (authorization === undefined || CUSTOMERS_KEY.test(authorization)) return false
  const [, token] = /^Bearer ([!-~]{1,512})$/i.exec(authorization) ?? []
  const isIts =
    token !== undefined &&
    operatorToken !== undefined &&
    timingSafeEqual(hash('sha256', token, 'buffer'), hash('sha256', operatorToken, 'buffer'))
  if (!isIts) throw new ServiceError('unauthorized')
  return true
}

/** Refuses every request of an app that is not the operator's, and has no answer kept. */
export function useOperatorOnly(app: FastifyInstance, operatorToken: string | undefined): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!isOperator(request, operatorToken)) throw new ServiceError('unauthorized')
    reply.header('cache-control', 'no-store')
  })
}

/** The origin of the events that a request of the operator causes. */
export const operatorOrigin = ({ id }: Pick<FastifyRequest, 'id'>): Origin => ({
  correlationId: id,
  actor: 'operator',
})

/**
 * A second server in front of the same routes, whose every request is the operator's. Where it listens, only the
 * owner may be able to connect.
 *
 * @returns a server that does not listen yet.
 */
export function createOwnerServer(app: FastifyInstance): Server {
  const server = createServer((request, response) => app.routing(request, response))
  server.on('connection', (socket) => doors.set(socket, 'owner'))
  return server
}

/**
 * A server for the operator's machines in front of the same routes: health in full, metrics, and nothing else, so that
 * a network may be let in to it that must not act as the operator.
 *
 * @returns a server that does not listen yet.
 */
export function createHealthServer(app: FastifyInstance): Server {
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?')
    if (request.method === 'GET' && ['/livez', '/readyz', '/metrics'].includes(path)) {
      app.routing(request, response)
      return
    }
    const { status, message } = ERRORS.not_found
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
    response.end(JSON.stringify({ code: 'not_found', message }))
  })
  server.on('connection', (socket) => doors.set(socket, 'health'))
  return server
}

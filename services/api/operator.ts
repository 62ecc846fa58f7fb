import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '../../contracts/errors.ts'

/** Connections that came in by the owner's door. */
const ownerConnections = new WeakSet<Socket>()

/** Whether a request came in by the owner's door, which no limits stand at. */
export const isByOwnersDoor = ({ raw }: FastifyRequest): boolean => ownerConnections.has(raw.socket)

/**
 * Whether a request comes from the operator: by the owner's door, or with the operator's token.
 *
 * @throws ServiceError `unauthorized` for a credential that is given but is not the operator's.
 */
export function isOperator(request: FastifyRequest, operatorToken: string | undefined): boolean {
  if (isByOwnersDoor(request)) return true
  const { authorization } = request.headers
  if (authorization === undefined) return false
  const [, token] = /^Bearer ([!-~]{1,512})$/i.exec(authorization) ?? []
  if (token === undefined || operatorToken === undefined || !isSameText(token, operatorToken)) {
    throw new ServiceError('unauthorized')
  }
  return true
}

/**
 * A second server in front of the same routes, whose every request is the operator's. Where it listens, only the
 * owner may be able to connect.
 *
 * @returns a server that does not listen yet.
 */
export function createOwnerServer(app: FastifyInstance): Server {
  const server = createServer((request, response) => app.routing(request, response))
  server.on('connection', (socket) => ownerConnections.add(socket))
  return server
}

/** Compares in a time that does not depend on where two texts differ. */
const isSameText = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { LIMITS } from '../../contracts/limits.ts'

/** Aborted when the caller is gone; after a complete answer as well, when aborting does nothing. */
export function signalOfLeaving({ raw }: FastifyReply): AbortSignal {
  const left = new AbortController()
  if (raw.destroyed) left.abort()
  raw.once('close', () => left.abort())
  return left.signal
}

/** Signals of leaving that a shutdown aborts too, so that it is not held up by a chain. */
export function createWaits(app: FastifyInstance): (reply: FastifyReply) => AbortSignal {
  const closing = new AbortController()
  app.addHook('preClose', async () => closing.abort())
  return (reply) => AbortSignal.any([closing.signal, signalOfLeaving(reply)])
}

/**
 * Ends connections without a whole request when the server closes: an idle one at once, one that is still sending
 * after a moment. Node would wait for either, and no longer checks its timeouts.
 */
export function useShutdown(app: FastifyInstance): void {
  const waiting = new Set<Socket>()
  let isClosing = false
  const wait = (socket: Socket): void => {
    if (isClosing) socket.destroySoon()
    else if (!socket.destroyed) waiting.add(socket)
  }
  app.server.on('connection', (socket: Socket) => {
    wait(socket)
    socket.once('close', () => waiting.delete(socket))
  })
  app.addHook('preHandler', (request, reply, done) => {
    const { socket } = request.raw
    // An injected request has no connection.
    if (waiting.delete(socket)) reply.raw.once('close', () => wait(socket))
    done()
  })
  app.addHook('preClose', async () => {
    isClosing = true
    setTimeout(() => {
      for (const socket of waiting) socket.destroy()
    }, LIMITS.arrivalGraceMs).unref()
  })
}

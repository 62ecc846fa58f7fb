import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { LIMITS } from '../../contracts/limits.ts'

/**
 * Signals for those who wait: aborted when the caller hangs up, or this process shuts down, so that a shutdown is
 * not held up by a chain.
 */
export function createWaits(app: FastifyInstance): (reply: FastifyReply) => AbortSignal {
  const waits = new Set<AbortController>()
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
    for (const wait of waits) wait.abort()
  })
  return ({ raw }) => {
    const wait = new AbortController()
    if (isClosing || raw.destroyed) wait.abort()
    waits.add(wait)
    raw.once('close', () => {
      waits.delete(wait)
      if (!raw.writableFinished) wait.abort()
    })
    return wait.signal
  }
}

/** Aborted when the caller is gone; after a complete answer as well, when aborting does nothing. */
export function signalOfLeaving({ raw }: FastifyReply): AbortSignal {
  const left = new AbortController()
  raw.once('close', () => left.abort())
  return left.signal
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

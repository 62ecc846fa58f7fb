import type { FastifyInstance, FastifyReply } from 'fastify'

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

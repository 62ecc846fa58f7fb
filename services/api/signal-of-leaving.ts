import type { FastifyReply } from 'fastify'

/** Aborted when the caller is gone; after a complete answer as well, when aborting does nothing. */
export function signalOfLeaving({ raw }: FastifyReply): AbortSignal {
  const left = new AbortController()
  raw.once('close', () => left.abort())
  return left.signal
}

import type { EgressGuard } from './egress-guard.ts'
import { createGuardedAgent, type GuardedAgentOptions, refusalIn } from './guarded-agent.ts'
import { loadUndici } from './load-undici.ts'

/** A document of somebody else's, as it came. */
export interface GuardedDocument {
  readonly status: number
  readonly contentType: string
  /** Seconds that it may be kept, of `Cache-Control`; undefined where it says nothing. */
  readonly maxAgeS: number | undefined
  /** Empty where the status is not 200. */
  readonly body: string
}

export interface GuardedFetchOptions extends Pick<GuardedAgentOptions, 'authorities'> {
  readonly guard: EgressGuard
  readonly userAgent: string
}

/**
 * Fetches one small document from a public address: no redirects, no cookies, no compression, no more bytes than were
 * asked for and no longer than was said, resolving and connecting included.
 *
 * @throws ServiceError `url_refused`; an `Error` where it did not come whole
 * @example const { body } = await createGuardedFetch({ guard, userAgent })('https://app.example/client.json', { bytes: 10_240, timeMs: 5_000 })
 */
export function createGuardedFetch({ guard, userAgent, authorities }: GuardedFetchOptions) {
  return async (
    url: string,
    { bytes, timeMs }: { readonly bytes: number; readonly timeMs: number },
  ): Promise<GuardedDocument> => {
    const { origin, path } = guard.check(url)
    // Of its own for each: nothing of one answer is left for the next.
    const agent = createGuardedAgent({ guard, connectMs: timeMs, authorities, connectionsPerOrigin: 1 })
    const time = AbortSignal.timeout(timeMs)
    try {
      const answer = await loadUndici().request(`${origin}${path}`, {
        dispatcher: agent,
        signal: time,
        headers: { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': userAgent },
      })
      const { statusCode: status, headers } = answer
      const contentType = String(headers['content-type'] ?? '')
      const maxAgeS = maxAgeOf(String(headers['cache-control'] ?? ''))
      if (status !== 200) return { status, contentType, maxAgeS, body: '' }
      const chunks: Buffer[] = []
      let size = 0
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        size += chunk.length
        if (size > bytes) throw new Error(`it has more than ${bytes} bytes`)
        chunks.push(chunk)
      }
      return { status, contentType, maxAgeS, body: Buffer.concat(chunks).toString('utf8') }
    } catch (error) {
      if (time.aborted) throw new Error(`it did not come within ${timeMs / 1_000} s`, { cause: error })
      throw refusalIn(error) ?? error
    } finally {
      await agent.destroy()
    }
  }
}

function maxAgeOf(cacheControl: string): number | undefined {
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return 0
  const [, seconds] = /\bmax-age=(\d{1,9})\b/i.exec(cacheControl) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}

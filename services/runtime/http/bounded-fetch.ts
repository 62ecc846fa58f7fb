/** An answer that was read whole. */
export interface BoundedAnswer extends Pick<Response, 'status' | 'statusText' | 'headers'> {
  readonly body: Buffer
}

export interface FetchBounds {
  readonly fetch?: typeof globalThis.fetch | undefined
  /** Ends the exchange early. */
  readonly signal?: AbortSignal | undefined
  /** How long the whole exchange may take, the body included: an answer that drips in ends as well. */
  readonly timeMs: number
  /** Bytes of the body, unpacked: a few packed ones may hold gigabytes. */
  readonly mostBytes: number
}

/** An answer is longer than the bound; asking again will not make it shorter. */
export class AnswerTooLong extends Error {
  constructor(mostBytes: number) {
    super(`its answer is longer than ${mostBytes} bytes`)
  }
}

/**
 * Sends one request and reads its answer while it stays within its bounds. A redirect fails unless `init` allows it.
 * @throws AnswerTooLong; what `fetch` throws, which is a `TimeoutError` past the time
 */
export async function boundedFetch(
  address: string | URL,
  init: Omit<RequestInit, 'signal'>,
  { fetch: send = fetch, signal, timeMs, mostBytes }: FetchBounds,
): Promise<BoundedAnswer> {
  const time = AbortSignal.timeout(timeMs)
  const ending = signal === undefined ? time : AbortSignal.any([signal, time])
  const response = await send(address, { redirect: 'error', ...init, signal: ending })
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    // Leaving the loop cancels the body, which closes the connection.
    if (bytes > mostBytes) throw new AnswerTooLong(mostBytes)
    parts.push(part)
  }
  const { status, statusText, headers } = response
  return { status, statusText, headers, body: Buffer.concat(parts, bytes) }
}

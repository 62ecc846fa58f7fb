import { assert } from '../../../contracts/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { AttemptsToRecord } from '../deliveries/plan-flush.ts'
import type { Endpoint } from './endpoint.ts'
import type { AttemptMade } from './run-attempt.ts'

export type AttemptRecorder = ReturnType<typeof createAttemptRecorder>

interface Gathered {
  readonly records: AttemptsToRecord[]
  readonly done: PromiseWithResolvers<void>
  readonly sinceMs: number
}

/** Attempts in a batch that is recorded at once. */
const ENOUGH = 32
/** Batches that end within this time share one commit. */
const TOGETHER_MS = 5
/** A batch is recorded also when this process ends. */
const never = new AbortController().signal

/**
 * An append for each attempt would cost more than the attempt. While more of an endpoint is under way, what ends is
 * gathered for `LIMITS.webhookRecordMs`: that long a kill may make deliveries come twice. The last one does not wait.
 */
export function createAttemptRecorder(options: {
  /** Monotonic clock, milliseconds. */
  readonly elapsed: () => number
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  /** Whether more is being sent to an endpoint, or about to be. */
  readonly hasMore: (endpoint: Endpoint) => boolean
}) {
  const { elapsed, sleep, hasMore } = options
  const gathering = new Map<Endpoint, Gathered>()

  let isWaiting = false

  /** One timer for all batches: it waits for the oldest, and then for the next ones. */
  async function recordInTime(): Promise<void> {
    if (isWaiting) return
    isWaiting = true
    try {
      for (const [endpoint, gathered] of gathering) {
        const leftMs = gathered.sinceMs + LIMITS.webhookRecordMs - elapsed()
        if (leftMs > TOGETHER_MS) await sleep(leftMs, never)
        if (gathering.get(endpoint) === gathered) flush(endpoint, gathered)
      }
    } finally {
      isWaiting = false
    }
  }

  function flush(endpoint: Endpoint, gathered: Gathered): void {
    gathering.delete(endpoint)
    const { records, done } = gathered
    const { journal } = endpoint
    assert(journal !== undefined, 'who attempts owns the delivery log')
    journal.record(...records).then(() => done.resolve(), done.reject)
  }

  function open(endpoint: Endpoint): Gathered {
    const gathered = { records: [], done: Promise.withResolvers<void>(), sinceMs: elapsed() }
    gathering.set(endpoint, gathered)
    recordInTime().catch(gathered.done.reject)
    return gathered
  }

  return {
    /**
     * Resolves when the attempt is durable.
     *
     * @throws ServiceError those of the delivery log's `record`
     */
    record(endpoint: Endpoint, { template, baseUrl, attempt }: AttemptMade): Promise<void> {
      const gathered = gathering.get(endpoint) ?? open(endpoint)
      gathered.records.push({ template, baseUrl, attempts: [attempt] })
      const isClosed = endpoint.state.phase === 'closed'
      if (isClosed || !hasMore(endpoint) || gathered.records.length >= ENOUGH) flush(endpoint, gathered)
      return gathered.done.promise
    },
  }
}

import type { DeliveryAttempt } from '../../../contracts/delivery-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { PreparedDelivery } from '../deliveries/prepare-delivery.ts'
import type { Endpoint } from './endpoint.ts'
import type { ReplayItem } from './endpoint-state.ts'

/** Writes down what came of attempts, several of one endpoint together. */
export interface AttemptRecorder {
  /** Resolves when it is durable. @throws ServiceError those of the delivery log's `record` */
  record(
    endpoint: Endpoint,
    body: Pick<PreparedDelivery, 'template' | 'baseUrl'>,
    attempt: DeliveryAttempt,
    /** The replay that it belongs to. */
    replay?: Pick<ReplayItem, 'left' | 'toSequence'>,
  ): Promise<void>
}

interface Gathered {
  readonly template: number
  readonly baseUrl: string
  readonly attempts: DeliveryAttempt[]
  /** By replay: the number through which it is done. An event has each once, and not many. */
  readonly replays: Map<string, number>
  readonly done: PromiseWithResolvers<void>
  readonly sinceMs: number
}

/** As many as share an event without waiting for more. */
const ENOUGH = 32
/** Those whose time is over within so little are recorded together, in one commit. */
const TOGETHER_MS = 5
/** What is gathered is recorded also when this process ends. */
const never = new AbortController().signal

/**
 * An append for each attempt would cost more than the attempt. While more of an endpoint is under way, what ends is
 * gathered for `LIMITS.webhookRecordMs`: that long a kill may make deliveries come twice. The last one does not wait.
 */
export function createAttemptRecorder(options: {
  /** A clock that is never set, milliseconds. */
  readonly elapsed: () => number
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  /** Whether more is being sent to an endpoint, or about to be. */
  readonly hasMore: (endpoint: Endpoint) => boolean
}): AttemptRecorder {
  const { elapsed, sleep, hasMore } = options
  const gathering = new Map<Endpoint, Gathered>()

  let isWaiting = false

  /** One wait for all that is gathered: of the oldest for as long as it may take, and then of those behind it. */
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
    const { template, baseUrl, attempts, replays, done } = gathered
    const recorded = endpoint.journal?.record({
      template,
      baseUrl,
      attempts,
      replays: [...replays].map(([replayId, through]) => ({ replayId, through })),
    })
    recorded?.then(() => done.resolve(), done.reject)
  }

  function open(
    endpoint: Endpoint,
    { template, baseUrl }: Pick<PreparedDelivery, 'template' | 'baseUrl'>,
  ): Gathered {
    const gathered = {
      template,
      baseUrl,
      attempts: [],
      replays: new Map<string, number>(),
      done: Promise.withResolvers<void>(),
      sinceMs: elapsed(),
    }
    gathering.set(endpoint, gathered)
    recordInTime().catch(gathered.done.reject)
    return gathered
  }

  return {
    record(endpoint, body, attempt, replay) {
      const known = gathering.get(endpoint)
      const isAlike = known?.template === body.template && known.baseUrl === body.baseUrl
      if (known !== undefined && !isAlike) flush(endpoint, known)
      const gathered = isAlike && known !== undefined ? known : open(endpoint, body)
      gathered.attempts.push(attempt)
      const through = throughAfter(attempt, replay)
      if (attempt.replayId !== null && through > 0) gathered.replays.set(attempt.replayId, through)
      const isClosed = endpoint.state.phase === 'closed'
      if (isClosed || !hasMore(endpoint) || isFull(gathered)) flush(endpoint, gathered)
      return gathered.done.promise
    },
  }
}

const isFull = ({ attempts, replays }: Gathered): boolean =>
  attempts.length >= ENOUGH || replays.size === LIMITS.webhookReplaysKept

/** The number through which a replay is done after an attempt, whatever was done behind it; 0 where it is not new. */
function throughAfter(
  { sequence, result }: DeliveryAttempt,
  replay: Pick<ReplayItem, 'left' | 'toSequence'> | undefined,
): number {
  if (replay === undefined || result === 'failed') return 0
  replay.left.delete(sequence)
  const [next = replay.toSequence + 1] = replay.left
  return next - 1
}

import type { DeliveryAttempt } from '../../../contracts/delivery-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { PreparedDelivery } from '../deliveries/prepare-delivery.ts'
import { hasWork, type Lane, type ReplayItem } from './lane.ts'

/** Writes down what came of attempts, several of one endpoint together. */
export interface AttemptRecorder {
  /** Resolves when it is durable. @throws ServiceError those of the delivery log's `record` */
  record(
    lane: Lane,
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
}

/** As many as share an event without waiting for more. */
const ENOUGH = 32
/** What is gathered is recorded also when this process ends. */
const never = new AbortController().signal

/**
 * An append for each attempt would cost more than the attempt. While more of an endpoint is under way, what ends is
 * gathered for `LIMITS.webhookRecordMs`: that long a kill may make deliveries come twice. The last one does not wait.
 */
export function createAttemptRecorder(
  sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>,
): AttemptRecorder {
  const gathering = new Map<Lane, Gathered>()

  let isRoundComing = false

  /** One wait for all that is gathered meanwhile. */
  async function nextRound(): Promise<void> {
    if (isRoundComing) return
    isRoundComing = true
    await sleep(LIMITS.webhookRecordMs, never)
    isRoundComing = false
    for (const [lane, gathered] of gathering) flush(lane, gathered)
  }

  function flush(lane: Lane, gathered: Gathered): void {
    gathering.delete(lane)
    const { template, baseUrl, attempts, replays, done } = gathered
    const recorded = lane.journal?.record({
      template,
      baseUrl,
      attempts,
      replays: [...replays].map(([replayId, through]) => ({ replayId, through })),
    })
    recorded?.then(() => done.resolve(), done.reject)
  }

  function open(lane: Lane, { template, baseUrl }: Pick<PreparedDelivery, 'template' | 'baseUrl'>): Gathered {
    const gathered = {
      template,
      baseUrl,
      attempts: [],
      replays: new Map<string, number>(),
      done: Promise.withResolvers<void>(),
    }
    gathering.set(lane, gathered)
    nextRound().catch(gathered.done.reject)
    return gathered
  }

  return {
    record(lane, body, attempt, replay) {
      const known = gathering.get(lane)
      const isAlike = known?.template === body.template && known.baseUrl === body.baseUrl
      if (known !== undefined && !isAlike) flush(lane, known)
      const gathered = isAlike && known !== undefined ? known : open(lane, body)
      gathered.attempts.push(attempt)
      const through = throughAfter(attempt, replay)
      if (attempt.replayId !== null && through > 0) gathered.replays.set(attempt.replayId, through)
      const isLast = lane.sending === 0 && !hasWork(lane)
      if (isLast || lane.isClosed || isFull(gathered)) flush(lane, gathered)
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

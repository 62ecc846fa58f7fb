import type { DeliveryAttempt } from '../../../contracts/delivery-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { PreparedDelivery } from '../deliveries/prepare-delivery.ts'
import { hasWork, type Lane } from './lane.ts'

/** Writes down what came of attempts, several of one endpoint together. */
export interface AttemptRecorder {
  /** Resolves when it is durable. @throws ServiceError those of the delivery log's `record` */
  record(
    lane: Lane,
    body: Pick<PreparedDelivery, 'template' | 'baseUrl'>,
    attempt: DeliveryAttempt,
  ): Promise<void>
}

interface Gathered {
  readonly template: number
  readonly baseUrl: string
  readonly attempts: DeliveryAttempt[]
  readonly replays: { readonly replayId: string; readonly through: number }[]
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
    const recorded = lane.journal?.record({ template, baseUrl, attempts, replays })
    recorded?.then(() => done.resolve(), done.reject)
  }

  function open(lane: Lane, { template, baseUrl }: Pick<PreparedDelivery, 'template' | 'baseUrl'>): Gathered {
    const gathered = { template, baseUrl, attempts: [], replays: [], done: Promise.withResolvers<void>() }
    gathering.set(lane, gathered)
    nextRound().catch(gathered.done.reject)
    return gathered
  }

  return {
    record(lane, body, attempt) {
      const known = gathering.get(lane)
      const isAlike = known?.template === body.template && known.baseUrl === body.baseUrl
      if (known !== undefined && !isAlike) flush(lane, known)
      const gathered = isAlike && known !== undefined ? known : open(lane, body)
      gathered.attempts.push(attempt)
      const { replayId, sequence, result } = attempt
      if (replayId !== null && result !== 'failed') gathered.replays.push({ replayId, through: sequence })
      const isLast = lane.sending === 0 && !hasWork(lane)
      if (isLast || lane.isClosed || gathered.attempts.length >= ENOUGH) flush(lane, gathered)
      return gathered.done.promise
    },
  }
}

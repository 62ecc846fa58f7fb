import type { DeliveryAttempt } from '../../../contracts/events/delivery-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { DeliveryLog } from '../deliveries/delivery-log.ts'

/** Attempts that are recorded at once, though more are under way. */
const ENOUGH = 32

/**
 * Attempts of an endpoint that are recorded together: an append for each would cost more than the attempt. While more is
 * being sent they are gathered for `LIMITS.webhookRecordMs`: that long a kill may make deliveries come twice.
 */
export class AttemptBatch {
  readonly #elapsed: () => number
  #records: DeliveryAttempt[] = []
  #done = Promise.withResolvers<void>()
  #sinceMs = 0

  /** @param elapsed monotonic clock, milliseconds */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed
  }

  get isFull(): boolean {
    return this.#records.length >= ENOUGH
  }

  get isDue(): boolean {
    return this.#records.length > 0 && this.#elapsed() - this.#sinceMs >= LIMITS.webhookRecordMs
  }

  /** Resolves once it is durable; rejects with the faults of the delivery log's `record`. */
  add(record: DeliveryAttempt): Promise<void> {
    if (this.#records.length === 0) this.#sinceMs = this.#elapsed()
    this.#records.push(record)
    return this.#done.promise
  }

  /** Records what was gathered. */
  flush(log: DeliveryLog | undefined): void {
    if (log === undefined || this.#records.length === 0) return
    const [records, done] = [this.#records, this.#done]
    this.#records = []
    this.#done = Promise.withResolvers()
    log.record(...records).then(() => done.resolve(), done.reject)
  }
}

import { LIMITS } from '../../../contracts/limits.ts'
import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import type { AttemptsToRecord } from '../deliveries/plan-flush.ts'

/** Attempts that are recorded at once, though more are under way. */
const ENOUGH = 32

/**
 * Attempts of an endpoint that are recorded together: an append for each would cost more than the attempt. While more is
 * being sent they are gathered for `LIMITS.webhookRecordMs`: that long a kill may make deliveries come twice.
 */
export class AttemptBatch {
  readonly #elapsed: () => number
  #records: AttemptsToRecord[] = []
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
  add(record: AttemptsToRecord): Promise<void> {
    if (this.#records.length === 0) this.#sinceMs = this.#elapsed()
    this.#records.push(record)
    return this.#done.promise
  }

  /** Records what was gathered. */
  flush(journal: DeliveryJournal | undefined): void {
    if (journal === undefined || this.#records.length === 0) return
    const [records, done] = [this.#records, this.#done]
    this.#records = []
    this.#done = Promise.withResolvers()
    journal.record(...records).then(() => done.resolve(), done.reject)
  }
}

import { assert } from '../../../contracts/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Matched, Signal } from '../signals/signal.ts'

/** Estimated bytes that the waiting signals of all endpoints take together. */
export class SignalMemory {
  bytes = 0
}

/** A reference with its number, and the signal itself, which those that it matched share. */
const REFERENCE_BYTES = 128
const SIGNAL_BYTES = 3_072
const ROW_BYTES = 512
/** Signals that each endpoint may keep while all together have used up the memory. */
const CROWDED_QUEUE = 16

/** Bytes that a queued signal costs one of the endpoints that it matched. */
export function weightOf(signal: Signal, matched: number): number {
  const rows = signal.type === 'scan_digest' ? signal.data.calls.length * ROW_BYTES : 0
  return REFERENCE_BYTES + (SIGNAL_BYTES + rows) / matched
}

/** Signals of one endpoint that wait in memory, in their order. */
export class QueuedSignals {
  readonly #memory: SignalMemory
  #waiting: { readonly matched: Matched; readonly weight: number }[] = []

  constructor(memory: SignalMemory) {
    this.#memory = memory
  }

  get size(): number {
    return this.#waiting.length
  }

  /** Number of the signal that came last; undefined while none waits. */
  get last(): number | undefined {
    return this.#waiting.at(-1)?.matched.sequence
  }

  /** Whether one more is kept: few where all endpoints together take much memory. */
  get hasRoom(): boolean {
    const isCrowded = this.#memory.bytes > LIMITS.webhookQueuedBytes
    return this.size < (isCrowded ? CROWDED_QUEUE : LIMITS.webhookQueue)
  }

  push(matched: Matched, weight: number): void {
    assert(matched.sequence > (this.last ?? 0), 'queued numbers only rise', matched.sequence)
    this.#waiting.push({ matched, weight })
    this.#memory.bytes += weight
  }

  shift(): Matched | undefined {
    const first = this.#waiting.shift()
    this.#memory.bytes -= first?.weight ?? 0
    assert(this.#memory.bytes > -1, 'the queues give back what they took', this.#memory.bytes)
    return first?.matched
  }

  clear(): void {
    for (const { weight } of this.#waiting) this.#memory.bytes -= weight
    this.#waiting = []
  }
}

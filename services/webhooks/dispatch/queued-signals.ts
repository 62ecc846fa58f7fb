import { LIMITS } from '../../../contracts/limits.ts'
import type { Matched, Signal } from '../signals/signal.ts'

/** Signals of one endpoint that wait in memory, in their order. */
export interface QueuedSignals {
  readonly size: number
  /** Whether one more is kept: few where all of them together take much memory. */
  readonly hasRoom: boolean
  push(matched: Matched, weight: number): void
  shift(): Matched | undefined
  clear(): void
}

/** What all endpoints keep in memory together. */
export interface SignalMemory {
  /** An estimate of the bytes that all waiting signals take. */
  readonly bytes: number
  open(): QueuedSignals
}

/** A reference with its number, and the signal itself, which those that it matched share. */
const REFERENCE_BYTES = 128
const SIGNAL_BYTES = 3_072
const ROW_BYTES = 512
/** What each may keep where all together keep as much as they may. */
const CROWDED_QUEUE = 16

/** What one of those that a signal matched takes of memory for it. */
export function weightOf(signal: Signal, matched: number): number {
  const rows = signal.type === 'scan_digest' ? signal.data.calls.length * ROW_BYTES : 0
  return REFERENCE_BYTES + (SIGNAL_BYTES + rows) / matched
}

/** @param most bytes behind which endpoints keep few signals each, and read the others again */
export function createSignalMemory(most: number = LIMITS.webhookQueuedBytes): SignalMemory {
  let bytes = 0

  function open(): QueuedSignals {
    let signals: Matched[] = []
    let weights: number[] = []
    return {
      get size() {
        return signals.length
      },
      get hasRoom() {
        return signals.length < (bytes > most ? CROWDED_QUEUE : LIMITS.webhookQueue)
      },
      push(matched, weight) {
        signals.push(matched)
        weights.push(weight)
        bytes += weight
      },
      shift() {
        bytes -= weights.shift() ?? 0
        return signals.shift()
      },
      clear() {
        for (const weight of weights) bytes -= weight
        signals = []
        weights = []
      },
    }
  }

  return {
    get bytes() {
      return bytes
    },
    open,
  }
}

import { DAY_MS } from '../../../contracts/timeframes.ts'
import { toMilliseconds } from '../instant-unit.ts'

const UNIT_NAMES = { s: 'seconds', ms: 'milliseconds', us: 'microseconds', ns: 'nanoseconds' } as const

export type UnitName = (typeof UNIT_NAMES)[keyof typeof UNIT_NAMES]

export interface InstantOptions {
  /** The present, Unix milliseconds: nothing is later than a day after it. */
  readonly now?: number
  /** Told of each file whose times were converted to milliseconds. */
  readonly onConverted?: (file: string, unit: UnitName) => void
}

/** The time of a row in milliseconds, or why it cannot be one. */
type ReadInstant = { readonly ms: number; readonly unit: UnitName } | { readonly fault: string }

/** Reads the times of files that follow one another: those of a file are in one unit, and all rise. */
export class InstantReader {
  readonly #latest: number
  readonly #onConverted: InstantOptions['onConverted']
  #file = ''
  #unit: UnitName | undefined
  #last = Number.NEGATIVE_INFINITY

  constructor({ now = Number.POSITIVE_INFINITY, onConverted }: InstantOptions) {
    this.#latest = now + DAY_MS
    this.#onConverted = onConverted
  }

  beginFile(name: string): void {
    this.#file = name
    this.#unit = undefined
  }

  read(value: number): ReadInstant {
    if (!Number.isInteger(value)) return { fault: 'is not a whole number' }
    const found = toMilliseconds(value)
    if (found === undefined) {
      return {
        fault:
          'is no instant from 2009-01-03 to 2100-01-01 in seconds, milliseconds, microseconds or nanoseconds',
      }
    }
    const unit = UNIT_NAMES[found.unit]
    if (found.ms > this.#latest) {
      const read = `${new Date(found.ms).toISOString()}${unit === 'milliseconds' ? '' : ` in ${unit}`}`
      return { fault: `is ${read}, more than a day from now` }
    }
    if (this.#unit !== undefined && this.#unit !== unit)
      return { fault: `is in ${unit}, and the rows before are in ${this.#unit}` }
    return { ms: found.ms, unit }
  }

  /** Whether an instant is later than all before it; from then on it is the latest. */
  advance({ ms, unit }: { readonly ms: number; readonly unit: UnitName }): boolean {
    if (ms <= this.#last) return false
    if (this.#unit === undefined && unit !== 'milliseconds') this.#onConverted?.(this.#file, unit)
    this.#unit = unit
    this.#last = ms
    return true
  }
}

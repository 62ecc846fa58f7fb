import type { Candle } from '../../contracts/candle.ts'

/** Numbers of one row of a candle: open time, open, high, low, close, volume. */
export const ROW_NUMBERS = 6

/** The bars in the making of many series, in one typed array: no objects to follow, none to collect. */
export interface BarSlab {
  /**
   * Makes room for one more series and answers its slot.
   *
   * @param lengthMs length of its bars
   * @param notBefore bars that open before this instant are left out
   * @param isCovered whether there is no base bar from `notBefore` on that will not be taken: otherwise the bar
   *   that the first base bar falls into may be partial, and is left out
   */
  addSlot(lengthMs: number, notBefore: number, isCovered: boolean): number
  /**
   * Takes a base bar into a slot's bar, from `offset` of rows of {@link ROW_NUMBERS}.
   *
   * @returns the close time of the bar, where the base bar is the first of it, else 0
   */
  take(slot: number, rows: Float64Array, offset: number): number
  /** Ends a slot's bar and answers it; undefined where none was begun. */
  finish(slot: number): Candle | undefined
}

// One slot. BUCKET is the open time of the bar in the making, or NaN while there is none.
const BUCKET = 0
const OPEN = 1
const HIGH = 2
const LOW = 3
const CLOSE = 4
const VOLUME = 5
const NOT_BEFORE = 6
const LENGTH_MS = 7
const SLOT_NUMBERS = 8

/** Stands in BUCKET until the first base bar of a series came. */
const NO_BASE_BAR_YET = -1

const FIRST_SLOTS = 64

export function createBarSlab(): BarSlab {
  let slab = new Float64Array(FIRST_SLOTS * SLOT_NUMBERS)
  let slots = 0

  function addSlot(lengthMs: number, notBefore: number, isCovered: boolean): number {
    const slot = slots++
    slab = withRoomFor(slab, slot)
    const at = slot * SLOT_NUMBERS
    slab[at + BUCKET] = isCovered ? Number.NaN : NO_BASE_BAR_YET
    slab[at + NOT_BEFORE] = notBefore
    slab[at + LENGTH_MS] = lengthMs
    return slot
  }

  function take(slot: number, rows: Float64Array, offset: number): number {
    const at = slot * SLOT_NUMBERS
    const openTime = rows[offset] as number
    if (slab[at + BUCKET] === NO_BASE_BAR_YET) beginSeries(slab, at, openTime)
    const lengthMs = slab[at + LENGTH_MS] as number
    const bucket = openTime - (openTime % lengthMs)
    if (bucket < (slab[at + NOT_BEFORE] as number)) return 0
    if (slab[at + BUCKET] === bucket) {
      extend(slab, at, rows, offset)
      return 0
    }
    slab[at + BUCKET] = bucket
    for (let field = OPEN; field <= VOLUME; field++) slab[at + field] = rows[offset + field] as number
    return bucket + lengthMs
  }

  function finish(slot: number): Candle | undefined {
    const at = slot * SLOT_NUMBERS
    const openTime = slab[at + BUCKET] as number
    if (Number.isNaN(openTime) || openTime === NO_BASE_BAR_YET) return undefined
    slab[at + BUCKET] = Number.NaN
    return {
      openTime,
      open: slab[at + OPEN] as number,
      high: slab[at + HIGH] as number,
      low: slab[at + LOW] as number,
      close: slab[at + CLOSE] as number,
      volume: slab[at + VOLUME] as number,
    }
  }

  return { addSlot, take, finish }
}

/** Doubles the slab until it has room for a slot. */
function withRoomFor(slab: Float64Array<ArrayBuffer>, slot: number): Float64Array<ArrayBuffer> {
  if ((slot + 1) * SLOT_NUMBERS <= slab.length) return slab
  const larger = new Float64Array(slab.length * 2)
  larger.set(slab)
  return larger
}

/** The first base bar of a series decides which of its buckets can be whole. */
function beginSeries(slab: Float64Array, at: number, firstOpen: number): void {
  const lengthMs = slab[at + LENGTH_MS] as number
  const firstWhole = Math.ceil(firstOpen / lengthMs) * lengthMs
  slab[at + NOT_BEFORE] = Math.max(slab[at + NOT_BEFORE] as number, firstWhole)
  slab[at + BUCKET] = Number.NaN
}

function extend(slab: Float64Array, at: number, rows: Float64Array, offset: number): void {
  const high = rows[offset + HIGH] as number
  const low = rows[offset + LOW] as number
  if (high > (slab[at + HIGH] as number)) slab[at + HIGH] = high
  if (low < (slab[at + LOW] as number)) slab[at + LOW] = low
  slab[at + CLOSE] = rows[offset + CLOSE] as number
  slab[at + VOLUME] = addVolumes(slab[at + VOLUME] as number, rows[offset + VOLUME] as number)
}

/** Volumes are decimals of at most eight places, and of at most four where they are large. */
const FINE = 1e8
const COARSE = 1e4

/** Below it a sum times its scale is within an eighth of the whole number that is meant. */
const EXACT_BELOW = 2 ** 50

/**
 * The sum of two decimals as the nearest number there is to the decimal sum, so that the order in which parts
 * are added does not show: 0.1 and 0.2 are 0.3. Past the exact range it is the plain sum.
 */
function addVolumes(a: number, b: number): number {
  const sum = a + b
  if (sum * FINE < EXACT_BELOW) return Math.round(sum * FINE) / FINE
  if (sum * COARSE < EXACT_BELOW) return Math.round(sum * COARSE) / COARSE
  return sum
}

/** The first block of Bitcoin: no coin was traded before it. Unix milliseconds. */
const EARLIEST_INSTANT_MS = Date.UTC(2009, 0, 3)

const LATEST_INSTANT_MS = Date.UTC(2100, 0, 1)

/** Milliseconds in each unit that files and venues write instants in. */
const UNITS = [
  ['s', (value: number) => Math.round(value * 1_000)],
  ['ms', Math.floor],
  ['us', (value: number) => Math.floor(value / 1_000)],
  ['ns', (value: number) => Math.floor(value / 1_000_000)],
] as const

type InstantUnit = (typeof UNITS)[number][0]

/**
 * The instant that a number stands for, and the unit it is written in, told by its size: between the bounds the four
 * units do not overlap. Undefined for a number that is no instant from 2009-01-03 up to the year 2100 in any unit. A
 * caller that knows the present also refuses what is later than a day after it.
 */
export function toMilliseconds(value: number): { ms: number; unit: InstantUnit } | undefined {
  for (const [unit, convert] of UNITS) {
    const ms = convert(value)
    if (ms >= EARLIEST_INSTANT_MS && ms < LATEST_INSTANT_MS) return { ms, unit }
  }
  return undefined
}

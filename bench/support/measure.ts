import { appendFileSync } from 'node:fs'
import { exposedGc } from '../../testing/exposed-gc.ts'

/** One way of doing the work that a benchmark measures. */
export interface Candidate {
  readonly name: string
  /** Does one round; answers how many units of work it did and how long they took. */
  round(): Promise<{ units: number; milliseconds: number }>
}

export interface Measured {
  readonly name: string
  /** Units per second: the middle round, the slowest and the fastest. */
  readonly median: number
  readonly low: number
  readonly high: number
  /** Rates of all rounds, in their order. */
  readonly rates: readonly number[]
}

/**
 * Runs the candidates in turn, round after round, so that what else the machine does hits all of them; one
 * round of each beforehand warms up and is not counted, unless `BENCH_WARM_UP` is `off`.
 */
export async function measure(candidates: readonly Candidate[], rounds: number): Promise<Measured[]> {
  const rates = candidates.map((): number[] => [])
  if (process.env.BENCH_WARM_UP !== 'off') for (const candidate of candidates) await candidate.round()
  for (let round = 0; round < rounds; round++) {
    for (const [index, candidate] of candidates.entries()) {
      const { units, milliseconds } = await candidate.round()
      rates[index]?.push((units * 1_000) / milliseconds)
    }
  }
  return candidates.map((candidate, index) => summarise(candidate.name, rates[index] ?? []))
}

export function summarise(name: string, rates: readonly number[]): Measured {
  const sorted = rates.toSorted((a, b) => a - b)
  return {
    name,
    median: quantile(sorted, 0.5),
    low: sorted[0] ?? Number.NaN,
    high: sorted.at(-1) ?? Number.NaN,
    rates,
  }
}

/** Quantile of ascending values. */
export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

/** Times one piece of work in milliseconds. */
export async function timed(work: () => Promise<void> | void): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Processor time of this process so far, milliseconds. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** Times one piece of work in milliseconds of the processor. */
export async function cpuTimed(work: () => Promise<void> | void): Promise<number> {
  const start = cpuMs()
  await work()
  return cpuMs() - start
}

const number = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3)

/** A row of a table, as it is written besides. Rates are per second. */
export interface ReportedRow {
  readonly bench: string
  readonly title: string
  readonly unit: string
  readonly name: string
  readonly median: number
  readonly low: number
  readonly high: number
  readonly base: string
  readonly ratio: number
  readonly ratio_low: number
  readonly ratio_high: number
  /** The least ratio that is asked. */
  readonly floor: number | null
}

const rounded = (value: number): number => Number(value.toPrecision(4))

/** Adds a row to those of the run; without one to nothing. */
function keep(row: ReportedRow): void {
  const { BENCH_ROWS: file } = process.env
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(row)}\n`)
}

/**
 * Prints a table of rates with the ratio of each to a base: the middle one of the ratios within each round, since what
 * else the machine does hits both alike, and their spread.
 *
 * @param floors the least ratio asked of a candidate, by name.
 */
export function report(
  title: string,
  unit: string,
  measured: readonly Measured[],
  base: string,
  floors: Readonly<Record<string, number>> = {},
): void {
  const reference = measured.find((entry) => entry.name === base)
  if (reference === undefined) throw new Error(`no candidate is called ${base}`)
  print(`\n${title}`)
  for (const entry of measured) {
    const ratios = entry.rates
      .map((rate, round) => rate / (reference.rates[round] ?? Number.NaN))
      .toSorted((a, b) => a - b)
    const [least = Number.NaN, ratio = Number.NaN, most = Number.NaN] = [0, 0.5, 1].map((share) =>
      quantile(ratios, share),
    )
    const between = `[${least.toPrecision(2)}–${most.toPrecision(2)}]`
    const floor = floors[entry.name]
    const verdict = floor === undefined ? '' : `  ${ratio >= floor ? 'meets' : 'MISSES'} ${floor}`
    keep({
      bench: process.env.BENCH_NAME ?? '',
      title,
      unit,
      name: entry.name,
      median: rounded(entry.median),
      low: rounded(entry.low),
      high: rounded(entry.high),
      base,
      ratio: rounded(ratio),
      ratio_low: rounded(least),
      ratio_high: rounded(most),
      floor: floor ?? null,
    })
    const spread = `[${number(entry.low)}–${number(entry.high)}]`
    print(
      `  ${entry.name.padEnd(46)} ${number(entry.median).padStart(10)} ${unit}  ${spread.padEnd(22)} × ${ratio.toPrecision(3)} ${between}${verdict}`,
    )
  }
}

export const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

let collect: (() => void) | undefined

/** Bytes that are in use once garbage is collected: heap, and what lies outside it. */
export function bytesInUse(): number {
  collect ??= exposedGc()
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

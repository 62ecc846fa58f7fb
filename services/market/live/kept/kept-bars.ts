import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Candle } from '../../../../contracts/candle.ts'
import { reasonOf } from '../../../../contracts/errors.ts'
import { LIMITS } from '../../../../contracts/limits.ts'
import type { Series } from '../../../../contracts/series.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, type Timeframe, timeframeMs } from '../../../../contracts/timeframes.ts'
import { BarMaker } from '../../bar-maker.ts'
import type { KeptBar } from './kept-bar.ts'
import {
  appendKept,
  barsIn,
  type KeptFile,
  keptFile,
  keptFileNamed,
  readKept,
  sealKept,
} from './kept-files.ts'

export interface KeptBarsOptions {
  /** Folder of the files; created with the first bar. */
  readonly folder: string
  readonly keepDays: number
  /** Unix milliseconds. */
  readonly now: () => number
  /** From 0 up to 1. */
  readonly random: () => number
  /** Told of what cannot be written or read, once an hour. */
  readonly report: (message: string) => void
  /** How bars are written; to the files unless said. */
  readonly append?: typeof appendKept
}

/** A period is over this long before its file is sealed: venues finish bars late. */
const SEALED_AFTER_MS = HOUR_MS

/**
 * The bars that venues sent, with their order flow, in files of a day (1m) or a month (1h). They are a copy and no
 * truth: what is not there, or cannot be read, is asked of the venue.
 */
export class KeptBars {
  readonly #options: KeptBarsOptions
  readonly #append: (file: KeptFile, bars: readonly KeptBar[]) => Promise<void>
  /** Which bars a file has, one byte a bar, so that a page that is fetched again is not written again. */
  readonly #known = new Map<string, Uint8Array>()
  readonly #turns = new Map<string, Promise<void>>()
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(options: KeptBarsOptions) {
    this.#options = options
    this.#append = this.#options.append ?? appendKept
  }

  #reportProblem(error: unknown): void {
    if (this.#options.now() - this.#toldAt < HOUR_MS) return
    this.#toldAt = this.#options.now()
    this.#options.report(`bars with order flow cannot be kept in ${this.#options.folder}: ${reasonOf(error)}`)
  }

  async #knownOf(file: KeptFile, timeframe: Timeframe): Promise<Uint8Array> {
    const path = join(file.folder, file.name)
    const there = this.#known.get(path)
    if (there !== undefined) return there
    const marks = new Uint8Array(barsIn(file, timeframe))
    for (const { openTime } of await readKept(file)) marks[indexIn(file, openTime, timeframe)] = 1
    this.#known.set(path, marks)
    return marks
  }

  async #keepIn(file: KeptFile, timeframe: Timeframe, bars: readonly KeptBar[]): Promise<void> {
    const marks = await this.#knownOf(file, timeframe)
    const fresh = bars.filter(({ openTime }) => marks[indexIn(file, openTime, timeframe)] === 0)
    if (fresh.length === 0) return
    await mkdir(file.folder, { recursive: true, mode: 0o700 })
    await this.#append(file, fresh)
    for (const { openTime } of fresh) marks[indexIn(file, openTime, timeframe)] = 1
  }

  /** One writer at a time for each file. */
  #inTurn(file: KeptFile, work: () => Promise<void>): Promise<void> {
    const path = join(file.folder, file.name)
    const turn = (this.#turns.get(path) ?? Promise.resolve()).then(work).catch((error: unknown) => {
      // How much of it was written nobody knows.
      this.#known.delete(path)
      this.#reportProblem(error)
    })
    this.#turns.set(path, turn)
    void turn.then(() => this.#turns.get(path) === turn && this.#turns.delete(path))
    return turn
  }

  async #readBase(series: Series, since: number, until: number): Promise<Candle[]> {
    const barMs = timeframeMs(series.timeframe)
    const found: Candle[] = []
    let next = since
    while (next < until) {
      const file = keptFile(this.#options.folder, series, next)
      for (const bar of await readKept(file)) {
        if (bar.openTime < next) continue
        if (bar.openTime > next || next >= until) return found
        found.push(bar)
        next += barMs
      }
      if (next < Math.min(file.until, until)) return found
    }
    return found
  }

  async #tidyFolder(path: string): Promise<void> {
    const files = new Map<string, KeptFile>()
    for (const entry of await readdir(path)) {
      const file = keptFileNamed(path, entry)
      if (file === undefined) continue
      const isOld = file.until < this.#options.now() - this.#options.keepDays * DAY_MS
      // Somebody who was killed while sealing left it.
      const isLeft = entry.endsWith('.tmp') && file.until + DAY_MS < this.#options.now()
      if (isOld || isLeft) await rm(join(path, entry), { force: true })
      else if (!entry.endsWith('.csv.gz')) files.set(file.name, file)
    }
    for (const file of files.values()) {
      if (file.until + SEALED_AFTER_MS > this.#options.now()) continue
      const mark = Math.floor(this.#options.random() * Number.MAX_SAFE_INTEGER).toString(36)
      await this.#inTurn(file, () => sealKept(file, mark))
      this.#known.delete(join(path, file.name))
    }
  }

  /**
   * The bars that open from `since` on, as many as there are without a gap, made of shorter ones where those of the
   * timeframe are not kept; none where the first is missing.
   */
  async read(series: Series, since: number, count: number): Promise<readonly Candle[]> {
    const base: Timeframe = timeframeMs(series.timeframe) < HOUR_MS ? '1m' : '1h'
    const end = since + Math.min(count, LIMITS.venuePageBars) * timeframeMs(series.timeframe)
    try {
      const bars = await this.#readBase({ ...series, timeframe: base }, since, end)
      return base === series.timeframe ? bars.map(plainBar) : longerBars(bars, series)
    } catch (error) {
      this.#reportProblem(error)
      return []
    }
  }

  /** Keeps bars of 1m or 1h that are not kept yet; of two versions of a bar the first stays. Never rejects. */
  async keep(series: Series, bars: readonly KeptBar[]): Promise<void> {
    const files = Map.groupBy(bars, ({ openTime }) => keptFile(this.#options.folder, series, openTime).name)
    await Promise.all(
      [...files.values()].map((own) => {
        const file = keptFile(this.#options.folder, series, own[0]?.openTime ?? 0)
        return this.#inTurn(file, () => this.#keepIn(file, series.timeframe, own))
      }),
    )
  }

  /** Seals the files whose period is over, and removes those that are too old. Never rejects. */
  async tidy(): Promise<void> {
    try {
      const entries = await readdir(this.#options.folder, { withFileTypes: true })
      for (const entry of entries)
        if (entry.isDirectory()) await this.#tidyFolder(join(this.#options.folder, entry.name))
    } catch (error) {
      // Nothing was kept yet.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#reportProblem(error)
    }
  }
}

const indexIn = ({ from }: KeptFile, openTime: number, timeframe: Timeframe): number =>
  (openTime - from) / timeframeMs(timeframe)

const plainBar = ({ openTime, open, high, low, close, volume }: Candle): Candle => ({
  openTime,
  open,
  high,
  low,
  close,
  volume,
})

/** The longer bars of which all shorter ones are there; the shorter ones follow one another without a gap. */
function longerBars(bars: readonly Candle[], { timeframe }: Series): Candle[] {
  const maker = new BarMaker(timeframeMs(timeframe), MINUTE_MS, 0, true)
  const found: Candle[] = []
  const lastClose = (bars.at(-1)?.openTime ?? 0) + ((bars[1]?.openTime ?? 0) - (bars[0]?.openTime ?? 0))
  let closes = 0
  const end = (): void => {
    const bar = closes === 0 ? undefined : maker.finish()
    if (bar !== undefined && closes <= lastClose) found.push(bar)
  }
  for (const { openTime, open, high, low, close, volume } of bars) {
    if (closes !== 0 && openTime >= closes) {
      end()
      closes = 0
    }
    closes = maker.take(Float64Array.of(openTime, open, high, low, close, volume), 0) || closes
  }
  end()
  return found
}

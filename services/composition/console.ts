import type { FeedProgress } from '../../contracts/feed.ts'
import { seriesName } from '../../contracts/series.ts'
import { grouped } from '../../contracts/share-text.ts'
import type { Verdict } from '../../contracts/verdict.ts'

export interface Console {
  /**
   * The address is written in any case.
   *
   * @param header lines that stay in view on a terminal; on a low one the first alone
   */
  banner(lines: readonly string[], address: string | undefined, header?: readonly string[]): void
  verdicts(verdicts: readonly Verdict[]): void
  progress(progress: FeedProgress, recorded: number): void
  summary(lines: readonly string[]): void
  /** Gives a terminal back as it was found. */
  close(): void
}

interface ConsoleOptions {
  readonly isOn: boolean
  /**
   * In a file a line for each call, and for each series that goes back to HOLD; on a terminal a row for each series that
   * has a call. The others are counted. Off where bars are replayed faster than people read.
   */
  readonly showVerdicts: boolean
  /** Lines on a terminal too, and the sentence of each of them on a second one. */
  readonly showReasoning?: boolean
  readonly output: NodeJS.WriteStream
  readonly now: () => number
}

/** A progress line goes to a terminal at most this often, and to a file once per twentieth. */
const PROGRESS_EVERY_MS = 100
const BAR_WIDTH = 20
/** Size of a terminal that does not say it. */
const [USUAL_ROWS, USUAL_COLUMNS] = [24, 80]
/** Rows at the end of a terminal that stay in view: half of them, and no more than these. */
const MOST_KEPT = 12
/** ECMA-48: the cursor's place is kept and taken up again; the rows between which lines scroll. */
const [SAVED, RESTORED] = ['\u001b7', '\u001b8']
const scrolling = (range: string): string => `${SAVED}\u001b[${range}r${RESTORED}`
/** How often a file gets the number of verdicts that were no calls. */
const HOLDS_EVERY_MS = 60_000

/** Writes for people to a terminal or a file. */
export function createConsole(options: ConsoleOptions): Console {
  const lines = new Lines(options.output)
  if (options.isOn) return new People(lines, options)
  return {
    banner: (_, address) => {
      if (address !== undefined) lines.write(address)
    },
    verdicts: () => undefined,
    progress: () => undefined,
    summary: () => undefined,
    close: () => undefined,
  }
}

/**
 * Lines of an output. The last rows of a terminal can be kept for what changes in place: all else that is written there,
 * by this process or another, scrolls above them.
 */
class Lines {
  readonly isTerminal: boolean
  readonly #output: NodeJS.WriteStream
  #isBroken = false
  #height = 0
  #kept: readonly string[] = []

  constructor(output: NodeJS.WriteStream) {
    this.#output = output
    this.isTerminal = output.isTTY
    // A reader that hung up, or a full disk: the service goes on without lines for people.
    output.on('error', () => {
      this.#isBroken = true
    })
    output.on('resize', () => {
      if (this.#height === 0) return
      this.#height = 0
      this.#put(scrolling(''))
      this.keep(this.#kept)
    })
  }

  write(line: string): void {
    this.#put(`${line}\n`)
  }

  /** How many rows can be kept. */
  get room(): number {
    return Math.min(MOST_KEPT, Math.floor(this.#rows / 2))
  }

  get #rows(): number {
    return this.#output.rows > 0 ? this.#output.rows : USUAL_ROWS
  }

  /** Shows rows that stay in view, in place of those that did. */
  keep(rows: readonly string[]): void {
    this.#kept = rows
    const top = this.#rows - this.room
    if (this.#height === 0) {
      this.#height = this.room
      this.#put(`${'\n'.repeat(this.#height)}\u001b[${this.#height}A${scrolling(`1;${top}`)}`)
    }
    const width = this.#output.columns > 0 ? this.#output.columns : USUAL_COLUMNS
    const drawn = Array.from(
      { length: this.#height },
      (_, at) => `\u001b[${top + 1 + at};1H\u001b[2K${(rows[at] ?? '').slice(0, width)}`,
    )
    this.#put(`${SAVED}${drawn.join('')}${RESTORED}`)
  }

  /** Leaves the rows that were kept as lines among the others. */
  release(): void {
    if (this.#height === 0) return
    this.#height = 0
    this.#put(`${scrolling('')}\r\u001b[J`)
    for (const row of this.#kept) this.write(row)
  }

  #put(text: string): void {
    if (!this.#isBroken) this.#output.write(text)
  }
}

class People implements Console {
  readonly #lines: Lines
  readonly #options: ConsoleOptions
  /** The call of each series that has one. */
  readonly #calls = new Map<string, Verdict>()
  #header: readonly string[] = []
  #status = ''
  #holds = 0
  #countedAt = Number.NEGATIVE_INFINITY
  #shownAt = 0
  #shownStep = -1

  constructor(lines: Lines, options: ConsoleOptions) {
    this.#lines = lines
    this.#options = options
  }

  banner(lines: readonly string[], _address: string | undefined, header: readonly string[] = []): void {
    this.summary(lines)
    this.#header = header
    this.#draw()
  }

  verdicts(verdicts: readonly Verdict[]): void {
    if (!this.#options.showVerdicts) return
    for (const verdict of verdicts) {
      const name = seriesName(verdict)
      const had = this.#calls.has(name)
      if (verdict.call === 'HOLD' && !had) this.#holds += 1
      else this.#call(verdict)
      if (verdict.call === 'HOLD') this.#calls.delete(name)
      else this.#calls.set(name, verdict)
    }
    this.#countHolds()
    this.#draw()
  }

  progress({ barsDone, barsTotal }: FeedProgress, recorded: number): void {
    if (barsTotal === 0) return
    const share = Math.min(1, barsDone / barsTotal)
    const [done, total, verdicts] = [barsDone, barsTotal, recorded].map(grouped)
    const text = `${Math.floor(share * 100)} %  ${done} of ${total} bars, ${verdicts} verdicts`
    if (!this.#lines.isTerminal) {
      const step = Math.floor(share * 20)
      if (step > this.#shownStep) this.#lines.write(text)
      this.#shownStep = step
      return
    }
    const now = this.#options.now()
    if (share < 1 && now - this.#shownAt < PROGRESS_EVERY_MS) return
    this.#shownAt = now
    const filled = Math.round(share * BAR_WIDTH)
    this.#status = `[${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}] ${text}`
    this.#draw()
  }

  summary(lines: readonly string[]): void {
    for (const line of lines) this.#lines.write(line)
  }

  close(): void {
    this.#lines.release()
  }

  #call(verdict: Verdict): void {
    if (this.#lines.isTerminal && this.#options.showReasoning !== true) return
    this.#lines.write(verdictLine(verdict))
    if (this.#options.showReasoning) this.#lines.write(`  ${verdict.reasoning}`)
  }

  /** A row for each call that stands, each in its place; of very many the latest. */
  #draw(): void {
    if (!this.#lines.isTerminal) return
    const { room } = this.#lines
    const header = this.#header.slice(0, room === MOST_KEPT ? this.#header.length : 1)
    const shown = [...this.#calls.values()].slice(header.length + 1 - room)
    const more = this.#calls.size - shown.length
    const beside = more > 0 ? `${more} more calls on the board. ` : ''
    this.#lines.keep([...header, ...shown.map(verdictLine), `${beside}${this.#status}`])
  }

  /** On a terminal a row that is kept; in a file a line now and then. */
  #countHolds(): void {
    if (this.#holds === 0) return
    const text = `verdicts that said HOLD: ${grouped(this.#holds)}; the board has them`
    const now = this.#options.now()
    if (this.#lines.isTerminal) this.#status = text
    else if (now - this.#countedAt >= HOLDS_EVERY_MS) {
      this.#lines.write(text)
      this.#countedAt = now
    }
  }
}

/** One verdict in columns, on one line of a terminal of 80. */
export function verdictLine(verdict: Verdict): string {
  const { barClose, exchange, coin, timeframe, call, confidence, regime, price } = verdict
  const time = new Date(barClose).toISOString().slice(0, 16).replace('T', ' ')
  const columns = [
    time,
    `${exchange} ${coin} ${timeframe}`.padEnd(18),
    call.padEnd(4),
    `${confidence} %`,
    regime.padEnd(13),
    String(price),
  ]
  return columns.join('  ')
}

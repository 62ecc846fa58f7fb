import type { FeedProgress } from '../../contracts/feed.ts'
import { seriesName } from '../../contracts/series.ts'
import type { Call, Verdict } from '../../contracts/verdict.ts'

export interface Console {
  /**
   * The address is written in any case.
   *
   * @param header lines that come again on a terminal before they scroll away
   */
  banner(lines: readonly string[], address: string | undefined, header?: readonly string[]): void
  verdicts(verdicts: readonly Verdict[]): void
  progress(progress: FeedProgress, recorded: number): void
  summary(lines: readonly string[]): void
}

interface ConsoleOptions {
  readonly isOn: boolean
  /** A line for each call, and for each series that goes back to HOLD; the others are counted. Off where bars are replayed faster than people read. */
  readonly showVerdicts: boolean
  /** The sentence of each of them on a second line. */
  readonly showReasoning?: boolean
  readonly output: NodeJS.WriteStream
  readonly now: () => number
}

/** A progress line goes to a terminal at most this often, and to a file once per twentieth. */
const PROGRESS_EVERY_MS = 100
const BAR_WIDTH = 20
/** Rows of a terminal that does not say how many it has. */
const USUAL_ROWS = 24
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
  }
}

/** Lines of an output, of which a terminal overwrites the last one. */
class Lines {
  readonly isTerminal: boolean
  readonly #output: NodeJS.WriteStream
  #isBroken = false
  #hasStatus = false
  #header: readonly string[] = []
  #sinceHeader = 0

  constructor(output: NodeJS.WriteStream) {
    this.#output = output
    this.isTerminal = output.isTTY
    // A reader that hung up, or a full disk: the service goes on without lines for people.
    output.on('error', () => {
      this.#isBroken = true
    })
  }

  write(line: string): void {
    this.#put(`${this.#hasStatus ? '\r\u001b[K' : ''}${line}\n`)
    this.#hasStatus = false
    this.#sinceHeader += 1
  }

  /** Overwrites the status of before; on a terminal only. */
  status(text: string): void {
    this.#put(`\r${text}\u001b[K`)
    this.#hasStatus = true
  }

  /** @param lines that come again before they scroll away */
  keepInView(lines: readonly string[]): void {
    this.#header = lines
    this.#sinceHeader = 0
  }

  repeatHeader(): void {
    const room = (this.#output.rows ?? USUAL_ROWS) - this.#header.length - 1
    if (!this.isTerminal || this.#header.length === 0 || this.#sinceHeader < room) return
    for (const line of this.#header) this.write(line)
    this.#sinceHeader = 0
  }

  #put(text: string): void {
    if (!this.#isBroken) this.#output.write(text)
  }
}

class People implements Console {
  readonly #lines: Lines
  readonly #options: ConsoleOptions
  /** The last call of each series that was written. */
  readonly #calls = new Map<string, Call>()
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
    this.#lines.keepInView(header)
  }

  verdicts(verdicts: readonly Verdict[]): void {
    if (!this.#options.showVerdicts) return
    for (const verdict of verdicts) {
      const before = this.#calls.get(seriesName(verdict)) ?? 'HOLD'
      this.#calls.set(seriesName(verdict), verdict.call)
      if (verdict.call === 'HOLD' && before === 'HOLD') this.#holds += 1
      else this.#call(verdict)
    }
    this.#countHolds()
  }

  progress({ barsDone, barsTotal }: FeedProgress, recorded: number): void {
    const share = barsTotal === 0 ? 1 : Math.min(1, barsDone / barsTotal)
    const [done, total, verdicts] = [barsDone, barsTotal, recorded].map((count) => count.toLocaleString('en'))
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
    this.#lines.status(`[${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}] ${text}`)
  }

  summary(lines: readonly string[]): void {
    for (const line of lines) this.#lines.write(line)
  }

  #call(verdict: Verdict): void {
    this.#lines.write(verdictLine(verdict))
    if (this.#options.showReasoning) this.#lines.write(`  ${verdict.reasoning}`)
    this.#lines.repeatHeader()
  }

  /** On a terminal one line that is overwritten; in a file a line now and then. */
  #countHolds(): void {
    if (this.#holds === 0) return
    const text = `${this.#holds.toLocaleString('en')} verdicts said HOLD and are not shown; they stand on the board`
    const now = this.#options.now()
    if (this.#lines.isTerminal) this.#lines.status(text)
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

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

const silent: Omit<Console, 'banner'> = {
  verdicts: () => undefined,
  progress: () => undefined,
  summary: () => undefined,
}

/** A progress line goes to a terminal at most this often, and to a file once per twentieth. */
const PROGRESS_EVERY_MS = 100
const BAR_WIDTH = 20
/** Rows of a terminal that does not say how many it has. */
const USUAL_ROWS = 24
/** How often a file gets the number of verdicts that were no calls. */
const HOLDS_EVERY_MS = 60_000

/**
 * @param showVerdicts a line for each call, and for each series that goes back to HOLD; the others are counted. Off where bars are replayed faster than anybody reads.
 * @param showReasoning the sentence of each of them on a second line
 */
export function createConsole(options: {
  readonly isOn: boolean
  readonly showVerdicts: boolean
  readonly showReasoning?: boolean
  readonly output: NodeJS.WriteStream
  readonly now: () => number
}): Console {
  const { output, now } = options
  let isBroken = false
  // A reader that hung up, or a full disk: the service goes on without lines for people.
  output.on('error', () => {
    isBroken = true
  })
  const write = (text: string): void => {
    if (!isBroken) output.write(text)
  }
  if (!options.isOn) {
    return { ...silent, banner: (_, address) => write(address === undefined ? '' : `${address}\n`) }
  }
  let shownAt = 0
  let shownStep = -1
  let hasBar = false
  let header: readonly string[] = []
  let linesSinceHeader = 0
  const line = (text: string): void => {
    if (hasBar) write('\r\u001b[K')
    hasBar = false
    write(`${text}\n`)
    linesSinceHeader += 1
  }
  const repeatHeader = (): void => {
    const room = (output.rows ?? USUAL_ROWS) - header.length - 1
    if (!output.isTTY || header.length === 0 || linesSinceHeader < room) return
    header.forEach(line)
    linesSinceHeader = 0
  }
  /** The last call of each series that was written. */
  const told = new Map<string, Call>()
  let holds = 0
  let countedAt = Number.NEGATIVE_INFINITY
  /** On a terminal one line that is overwritten; in a file a line now and then. */
  const countHolds = (): void => {
    if (holds === 0) return
    const text = `${holds.toLocaleString('en')} verdicts said HOLD and are not shown; they stand on the board`
    if (output.isTTY) {
      write(`\r${text}\u001b[K`)
      hasBar = true
    } else if (now() - countedAt >= HOLDS_EVERY_MS) {
      line(text)
      countedAt = now()
    }
  }
  return {
    banner(lines, _address, comesAgain = []) {
      lines.forEach(line)
      header = comesAgain
      linesSinceHeader = 0
    },
    verdicts(verdicts) {
      if (!options.showVerdicts) return
      for (const verdict of verdicts) {
        const isNews = isCall(verdict) || isCall({ call: told.get(seriesName(verdict)) ?? 'HOLD' })
        if (isNews) {
          line(verdictLine(verdict))
          if (options.showReasoning) line(`  ${verdict.reasoning}`)
          repeatHeader()
        } else holds += 1
        told.set(seriesName(verdict), verdict.call)
      }
      countHolds()
    },
    progress({ barsDone, barsTotal }, recorded) {
      const share = barsTotal === 0 ? 1 : Math.min(1, barsDone / barsTotal)
      const [done, total, verdicts] = [barsDone, barsTotal, recorded].map((count) =>
        count.toLocaleString('en'),
      )
      const text = `${Math.floor(share * 100)} %  ${done} of ${total} bars, ${verdicts} verdicts`
      if (!output.isTTY) {
        const step = Math.floor(share * 20)
        if (step > shownStep) line(text)
        shownStep = step
        return
      }
      if (share < 1 && now() - shownAt < PROGRESS_EVERY_MS) return
      shownAt = now()
      const filled = Math.round(share * BAR_WIDTH)
      write(`\r[${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)}] ${text}\u001b[K`)
      hasBar = true
    },
    summary: (lines) => lines.forEach(line),
  }
}

const isCall = ({ call }: Pick<Verdict, 'call'>): boolean => call !== 'HOLD'

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

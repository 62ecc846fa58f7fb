import type { FeedProgress } from '../../contracts/domain/feed.ts'
import { seriesName } from '../../contracts/domain/series.ts'
import { grouped } from '../../contracts/domain/statistics.ts'
import type { Verdict } from '../../contracts/domain/verdict.ts'
import type { Settings } from '../runtime/config/settings.ts'

export interface Console {
  /** The address is written in any case. */
  banner(lines: readonly string[], address: string | undefined): void
  verdicts(verdicts: readonly Verdict[]): void
  progress(progress: FeedProgress, recorded: number): void
  summary(lines: readonly string[]): void
}

const PROGRESS_STEPS = 20
/** How often the number of verdicts that were no calls is written. */
const HOLDS_EVERY_MS = 60_000

/**
 * Writes lines for people: one for each call, one for each series that goes back to HOLD, the number of all other
 * HOLDs, and progress twenty times.
 */
export function createConsole(
  settings: Pick<Settings, 'CONSOLE' | 'MARKET' | 'MARKET_SPEED'>,
  output: NodeJS.WritableStream,
  now: () => number,
): Console {
  const isOn = settings.CONSOLE !== 'off'
  // Bars that are replayed at full speed are faster than people read.
  const showVerdicts = settings.MARKET !== 'recorded' || settings.MARKET_SPEED !== undefined
  const calling = new Set<string>()
  let [holds, countedAt, shownStep, isBroken] = [0, Number.NEGATIVE_INFINITY, -1, false]
  // A reader that hung up, or a full disk: the service goes on without lines for people.
  output.on('error', () => {
    isBroken = true
  })
  const write = (line: string): void => {
    if (!isBroken) output.write(`${line}\n`)
  }

  function verdictIn(verdict: Verdict): void {
    const name = seriesName(verdict)
    const isCall = verdict.call !== 'HOLD'
    if (!isCall && !calling.delete(name)) {
      holds += 1
      return
    }
    if (isCall) calling.add(name)
    write(verdictLine(verdict))
    if (settings.CONSOLE === 'reasons') write(`  ${verdict.reasoning}`)
  }

  return {
    banner(lines, address) {
      for (const line of isOn ? lines : [address]) if (line !== undefined) write(line)
    },
    verdicts(verdicts) {
      if (!isOn || !showVerdicts) return
      verdicts.forEach(verdictIn)
      if (holds === 0 || now() - countedAt < HOLDS_EVERY_MS) return
      write(`verdicts that said HOLD: ${grouped(holds)}; the board has them`)
      countedAt = now()
    },
    progress({ barsDone, barsTotal }, recorded) {
      if (!isOn || barsTotal === 0) return
      const share = Math.min(1, barsDone / barsTotal)
      const step = Math.floor(share * PROGRESS_STEPS)
      if (step <= shownStep) return
      shownStep = step
      const [done, total, verdicts] = [barsDone, barsTotal, recorded].map(grouped)
      write(`${Math.floor(share * 100)} %  ${done} of ${total} bars, ${verdicts} verdicts`)
    },
    summary: (lines) => {
      if (isOn) lines.forEach(write)
    },
  }
}

/** One verdict in columns, on one line of a terminal of 80. */
function verdictLine(verdict: Verdict): string {
  const { barClose, exchange, coin, timeframe, call, confidence, regime, price } = verdict
  const time = `${new Date(barClose).toISOString().slice(0, 16).replace('T', ' ')}Z`
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

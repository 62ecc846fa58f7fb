import type { FeedProgress } from '../../contracts/domain/feed.ts'
import { grouped } from '../../contracts/domain/statistics.ts'
import type { Verdict } from '../../contracts/domain/verdict.ts'
import type { Settings } from '../runtime/config/settings.ts'

const PROGRESS_STEPS = 20
/** Writes lines for people: one for each BUY and SELL, and progress twenty times. */
export function createConsole(
  settings: Pick<Settings, 'CONSOLE' | 'MARKET' | 'MARKET_SPEED'>,
  output: NodeJS.WritableStream,
) {
  const isOn = settings.CONSOLE !== 'off'
  // Bars that are replayed at full speed are faster than people read.
  const showVerdicts = settings.MARKET !== 'recorded' || settings.MARKET_SPEED !== undefined
  let [shownStep, isBroken] = [-1, false]
  // A reader that hung up, or a full disk: the service goes on without lines for people.
  output.on('error', () => void (isBroken = true))
  const write = (line: string): void => {
    if (!isBroken) output.write(`${line}\n`)
  }
  return {
    /** The address is written in any case. */
    banner(lines: readonly string[], address: string | undefined): void {
      for (const line of isOn ? lines : [address]) if (line !== undefined) write(line)
    },
    verdicts(verdicts: readonly Verdict[]): void {
      if (!isOn || !showVerdicts) return
      for (const verdict of verdicts) {
        if (verdict.call === 'HOLD') continue
        write(verdictLine(verdict))
        if (settings.CONSOLE === 'reasons') write(`  ${verdict.reasoning}`)
      }
    },
    progress({ barsDone, barsTotal }: FeedProgress, recorded: number): void {
      if (!isOn || barsTotal === 0) return
      const share = Math.min(1, barsDone / barsTotal)
      const step = Math.floor(share * PROGRESS_STEPS)
      if (step <= shownStep) return
      shownStep = step
      const [done, total, verdicts] = [barsDone, barsTotal, recorded].map(grouped)
      write(`${Math.floor(share * 100)} %  ${done} of ${total} bars, ${verdicts} verdicts`)
    },
    summary(lines: readonly string[]): void {
      if (isOn) lines.forEach(write)
    },
  }
}

/** One verdict in columns, on one line of a terminal of 80. */
function verdictLine(verdict: Verdict): string {
  const { barClose, exchange, coin, timeframe, call, confidence, regime, price } = verdict
  const time = `${new Date(barClose).toISOString().slice(0, 16).replace('T', ' ')}Z`
  const series = `${exchange} ${coin} ${timeframe}`.padEnd(18)
  return [time, series, call.padEnd(4), `${confidence} %`, regime.padEnd(13), String(price)].join('  ')
}

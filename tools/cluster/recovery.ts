import type { ServiceEvent } from '../../contracts/events/event-catalogue.ts'
import type { Records } from './records.ts'

/** A fault and the time in which it shows: up to the beginning of the next one. Unix milliseconds. */
export interface Stretch {
  readonly name: string
  readonly began: number
  /** When it was over; what it did may show for longer. */
  readonly ended: number
  readonly until: number
}

type Channel = 'calls' | 'verdicts' | 'outcomes' | 'deliveries' | 'paid calls' | 'settlement' | 'keys'

/** When something succeeded, of each channel. */
export function successesOf(
  log: readonly ServiceEvent[],
  records: Pick<Records, 'calls' | 'deliveries' | 'payments' | 'freshKeys'>,
): Readonly<Record<Channel, readonly number[]>> {
  const logged = (type: ServiceEvent['type']): number[] =>
    log.filter((event) => event.type === type).map(({ at }) => Date.parse(at))
  return {
    calls: records.calls.flatMap(({ isOk, at, tookMs }) => (isOk ? [at + tookMs] : [])),
    verdicts: logged('VerdictRecorded'),
    outcomes: logged('OutcomeLabelled'),
    deliveries: records.deliveries.map(({ at }) => at),
    'paid calls': records.payments.flatMap(({ answers }) => answers.map(({ at }) => at)),
    settlement: logged('SettlementConfirmed'),
    keys: records.freshKeys.flatMap(({ at, status }) => (status === 200 ? [at] : [])),
  }
}

/**
 * The longest time without a success that belongs to a stretch, milliseconds: from the last one before it to the first one
 * behind it where there was none meanwhile. One that reaches into several belongs to those in which half of it lies, and
 * to those that lie in it altogether. Undefined where nothing ever succeeded.
 *
 * @example longestGap([0, 100, 900, 1_000], { began: 200, until: 950 }) === 800
 */
export function longestGap(
  successes: readonly number[],
  { began, until }: Pick<Stretch, 'began' | 'until'>,
): number | undefined {
  const sorted = successes.toSorted((a, b) => a - b)
  const last = sorted.at(-1)
  if (last === undefined) return undefined
  const gaps = sorted.slice(1).flatMap((at, index) => {
    const before = sorted[index] ?? at
    const within = Math.min(at, until) - Math.max(before, began)
    return within > 0 && (within * 2 >= at - before || within === until - began) ? [at - before] : []
  })
  const open = last < until ? [until - Math.max(last, began)] : []
  return Math.max(0, ...gaps, ...open)
}

/** Effect of each fault on each channel, as a table: seconds without a success. */
export function recoveryTable(
  stretches: readonly Stretch[],
  successes: ReturnType<typeof successesOf>,
): string[] {
  const channels = Object.entries(successes)
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const seconds = (ms: number | undefined): string => (ms === undefined ? '–' : (ms / 1_000).toFixed(1))
  return [
    row(['fault', 'its own time', ...channels.map(([name]) => name)]),
    row(['---', '---', ...channels.map(() => '---')]),
    ...stretches.map((stretch) =>
      row([
        stretch.name,
        seconds(stretch.ended - stretch.began),
        ...channels.map(([, of]) => seconds(longestGap(of, stretch))),
      ]),
    ),
  ]
}

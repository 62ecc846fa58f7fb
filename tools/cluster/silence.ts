import type { ServiceEvent } from '../../contracts/events/event-catalogue.ts'
import type { Records } from './records.ts'
import type { Stretch } from './recovery.ts'

/** Seconds for which each may stay away. */
interface Bound {
  readonly calls: number
  readonly verdicts: number
  readonly deliveries: number
}

/**
 * Longest silence that a fault may cause, by words of its name; the first that fits counts. Beside it, what nobody can do
 * without the store waits as long as the store is away. Several faults in one silence may each take their time.
 */
const BOUNDS: readonly (readonly [name: RegExp, isAway: boolean, bound: Bound])[] = [
  [/clock of/, false, { calls: 5, verdicts: 80, deliveries: 90 }],
  [/store|shown late|four things/, true, { calls: 15, verdicts: 20, deliveries: 25 }],
  [/^nothing/, false, { calls: 3, verdicts: 5, deliveries: 15 }],
  [/NATS|Redis/, false, { calls: 5, verdicts: 5, deliveries: 15 }],
  // Of two that share the work one takes over within ten seconds.
  [/./, false, { calls: 5, verdicts: 15, deliveries: 20 }],
]

/** When each series of a minute, each delivery and each answer was seen, Unix milliseconds. */
export function heardOf(
  log: readonly ServiceEvent[],
  { calls, deliveries }: Pick<Records, 'calls' | 'deliveries'>,
): ReadonlyMap<string, readonly number[]> {
  const verdicts = log.filter((event) => event.type === 'VerdictRecorded')
  const byMinute = verdicts.filter(({ data }) => data.timeframe === '1m')
  return new Map([
    ['calls', calls.flatMap(({ isOk, at, tookMs }) => (isOk ? [at + tookMs] : []))],
    ['deliveries', deliveries.map(({ at }) => at)],
    ...[...Map.groupBy(byMinute, ({ stream }) => stream)].map(
      ([stream, own]) => [`verdicts of ${stream}`, own.map(({ at }) => Date.parse(at))] as const,
    ),
  ])
}

/**
 * Silences that last longer than the faults in which they lie allow, in words.
 *
 * @param until when the last stretch ended, Unix milliseconds
 * @example silences([{ name: 'NATS is down', … }], heardOf(log, records), over)
 */
export function silences(
  stretches: readonly Stretch[],
  heard: ReadonlyMap<string, readonly number[]>,
  until: number,
): string[] {
  const from = stretches[0]?.began ?? until
  return [...heard].flatMap(([what, times]) => {
    const channel = what.split(' ')[0] as keyof Bound
    const within = times.filter((at) => at > from && at < until).toSorted((a, b) => a - b)
    return [...within, until].flatMap((at, index) => {
      const last = within[index - 1] ?? from
      const meanwhile = stretches.filter((one) => one.began < at && one.until > last)
      const allowed = meanwhile.reduce((sum, one) => sum + allowedMs(one, channel), 0)
      if (at - last <= allowed) return []
      const names = meanwhile.map(({ name }) => name).join(', then ')
      return [
        `${what} stayed away for ${seconds(at - last)} s, where ${seconds(allowed)} are allowed: ${names}`,
      ]
    })
  })
}

const allowedMs = ({ name, began, ended }: Stretch, channel: keyof Bound): number =>
  name.split('; and ').reduce((sum, part) => {
    const [, isAway, bound] = BOUNDS.find(([words]) => words.test(part)) as (typeof BOUNDS)[number]
    return sum + bound[channel] * 1_000 + (isAway ? ended - began : 0)
  }, 0)

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

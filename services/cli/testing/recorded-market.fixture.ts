import type { Candle } from '../../../contracts/domain/candle.ts'
import type { Outcome } from '../../../contracts/domain/outcome.ts'
import type { Exchange, Series } from '../../../contracts/domain/series.ts'
import { lastBarClose, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import { barsMissed, isLate, type Verdict, WINDOW_BARS } from '../../../contracts/domain/verdict.ts'
import { type EventType, eventOf, type FactOf } from '../../../contracts/events/event-catalogue.ts'
import {
  modelStream,
  monitoredStream,
  outcomeStream,
  verdictStream,
} from '../../../contracts/events/streams.ts'
import type { NewEvent } from '../../../contracts/infra/event.ts'
import { NOW, nextId } from '../../proof/testing/made-up-log.fixture.ts'
import { auditTools } from '../analyst/audit.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
/** A market of two days that ends now. */
export const DAYS_MS = 48 * HOUR_MS
export const START = NOW - DAYS_MS
export const MODEL = 'barrier-3'

const meta = { correlationId: 'test', actor: 'engine' }
export interface Fact {
  readonly stream: string
  readonly event: NewEvent
  /** When it was recorded. */
  readonly at: number
}
export const factIn = <Type extends EventType>(
  stream: string,
  type: Type,
  data: Extract<FactOf<Type>, { type: Type }>['data'],
  at: number,
  id = nextId(),
): Fact => ({ stream, event: eventOf({ type, data } as FactOf<EventType>, { id, meta }), at })

/** Prices that wander without chance, each series in its own way. */
export function barAt({ coin, timeframe }: Series, openTime: number): Candle {
  const place = openTime / timeframeMs(timeframe) + (coin.codePointAt(0) ?? 0)
  const open = 100 + 3 * Math.sin(place / 3)
  const close = 100 + 3 * Math.sin((place + 1) / 3)
  const [high, low] = [Math.max(open, close) + 0.3, Math.min(open, close) - 0.3]
  return { openTime, open, high, low, close, volume: 1 }
}

export function barsBetween(series: Series, from: number, to: number): Candle[] {
  const barMs = timeframeMs(series.timeframe)
  const first = Math.ceil(from / barMs)
  const count = Math.max(0, Math.ceil(to / barMs) - first)
  return Array.from({ length: count }, (_, index) => barAt(series, (first + index) * barMs))
}

type RaceEnd = Pick<
  Outcome,
  'race' | 'entryPrice' | 'exitPrice' | 'decidedAt' | 'highest' | 'lowest' | 'closePrice'
>
const { raceOf } = auditTools({ get: async () => undefined })
export const endOf = (
  verdict: Verdict,
  bars = barsBetween(verdict, verdict.barClose, verdict.validUntil),
): RaceEnd => raceOf(verdict, bars) as unknown as RaceEnd

/** The call that wins, which nobody can know in time. */
export function winner(verdict: Verdict): Verdict['call'] {
  const { race } = endOf(verdict)
  return race === 'up' ? 'BUY' : race === 'down' ? 'SELL' : 'HOLD'
}
export const isLoser = (verdict: Verdict): boolean =>
  verdict.call !== 'HOLD' && winner(verdict) !== verdict.call

/** Events of a recorded market and acts of its operator. Times are Unix milliseconds. */
export interface Recording {
  readonly series: readonly Series[]
  readonly until?: number
  /** Whether the engine of an exchange runs; what it had in hand is gone when it does not. */
  readonly isUp?: (exchange: Exchange, at: number) => boolean
  readonly isStoreUp?: (at: number) => boolean
  /** By how much the clock of an engine is wrong. */
  readonly clockOff?: (exchange: Exchange, at: number) => number
  /** Whether the venue sends a bar when it closes; later it has all of them. */
  readonly sends?: (series: Series, barClose: number) => boolean
  /** By how much the operator holds a verdict back. */
  readonly holdBack?: (verdict: Verdict) => number
  /** The operator's change of the verdict; undefined leaves it out. */
  readonly alter?: (verdict: Verdict) => Verdict | undefined
}

interface Followed {
  readonly series: Series
  waiting: Verdict[]
  covered: number | undefined
  readonly open: Verdict[]
}

/** The events that an engine records of a market, minute by minute, by the rules of the recorder. */
export function recordMarket(recording: Recording): Fact[] {
  const { series, until = NOW, isUp = () => true } = recording
  const facts: Fact[] = [
    factIn(
      modelStream(MODEL),
      'ModelAnnounced',
      { modelVersion: MODEL, sha256: '7d'.repeat(32), bytes: 1, role: 'serving' },
      START,
    ),
  ]
  const exchanges = [...new Set(series.map(({ exchange }) => exchange))]
  for (const exchange of exchanges) facts.push(monitored(exchange, series))
  const followed = series.map((one): Followed => ({ series: one, waiting: [], covered: undefined, open: [] }))
  const running = new Set<Exchange>()
  for (let at = START + MINUTE_MS; at <= until; at += MINUTE_MS)
    for (const exchange of exchanges) {
      const own = followed.filter((one) => one.series.exchange === exchange)
      if (!isUp(exchange, at)) {
        running.delete(exchange)
        for (const one of own) one.waiting = []
        continue
      }
      const begins = !running.has(exchange)
      running.add(exchange)
      for (const one of own) takeBar(recording, one, at, begins)
      const clock = at + (recording.clockOff?.(exchange, at) ?? 0)
      if (recording.isStoreUp?.(at) === false) continue
      for (const one of own) facts.push(...recordWaiting(recording, one, { at, clock }))
      for (const one of own) facts.push(...labelDue(recording, one, at, clock))
    }
  return facts
}

export function monitored(exchange: Exchange, series: readonly Series[]): Fact {
  const own = Map.groupBy(
    series.filter((one) => one.exchange === exchange),
    ({ coin }) => coin,
  )
  const coins = [...own].map(([coin, all]) => ({ coin, timeframes: all.map(({ timeframe }) => timeframe) }))
  return factIn(
    monitoredStream(exchange),
    'MonitoringChanged',
    { exchange, since: START, monitored: coins },
    START,
  )
}

export function verdictAt(series: Series, barClose: number): Verdict {
  const windowMs = WINDOW_BARS[series.timeframe] * timeframeMs(series.timeframe)
  const place = barClose / timeframeMs(series.timeframe)
  return aVerdict({
    ...series,
    verdictId: nextId(),
    barClose,
    validUntil: barClose + windowMs,
    call: place % 3 === 0 ? 'BUY' : place % 3 === 1 ? 'SELL' : 'HOLD',
    modelVersion: MODEL,
    barrier: 0.01,
  })
}

/** A bar that closes now; and, where the engine begins, the newest one of its history. */
function takeBar({ sends = () => true }: Recording, one: Followed, at: number, begins: boolean): void {
  const { series } = one
  const newest = lastBarClose(series.timeframe, at)
  if (newest <= START || (newest !== at && !begins) || !sends(series, newest)) return
  one.waiting.push(verdictAt(series, newest))
}

interface Moment {
  readonly at: number
  readonly clock: number
}

function recordWaiting(recording: Recording, one: Followed, moment: Moment): Fact[] {
  const facts: Fact[] = []
  for (const draft of one.waiting.splice(0)) {
    const isDue =
      draft.barClose <= moment.clock && moment.at >= draft.barClose + (recording.holdBack?.(draft) ?? 0)
    // One that waits holds up those after it.
    if (!isDue || one.waiting.length > 0) one.waiting.push(draft)
    else if (one.covered === undefined || draft.barClose > one.covered)
      facts.push(...recordVerdict(recording, one, draft, moment))
  }
  return facts
}

function recordVerdict(
  { alter = (verdict) => verdict }: Recording,
  one: Followed,
  draft: Verdict,
  { at, clock }: Moment,
): Fact[] {
  const previous = one.covered === undefined ? null : { barClose: one.covered, regime: draft.regime }
  const verdict = alter({ ...draft, previous, recordedLate: isLate(draft, clock) })
  if (verdict === undefined) return []
  one.covered = verdict.barClose
  one.open.push(verdict)
  return [recorded(verdict, at)]
}

export const recorded = (verdict: Verdict, at: number): Fact =>
  factIn(verdictStream(verdict), 'VerdictRecorded', verdict, at, verdict.verdictId)

/** Bars that are of the future by the clock wait, and so does what they end. */
function labelDue({ sends = () => true }: Recording, one: Followed, at: number, clock: number): Fact[] {
  const facts: Fact[] = []
  while (one.open[0] !== undefined && one.open[0].validUntil <= Math.min(at, clock)) {
    const verdict = one.open.shift() as Verdict
    const barMs = timeframeMs(verdict.timeframe)
    const bars = barsBetween(verdict, verdict.barClose, verdict.validUntil).filter(({ openTime }) =>
      sends(one.series, openTime + barMs),
    )
    facts.push(labelled(verdict, at, endOf(verdict, bars)))
  }
  return facts
}

export function labelled(verdict: Verdict, at: number, end = endOf(verdict)): Fact {
  const { exchange, coin, timeframe, verdictId, barClose, validUntil } = verdict
  const { modelVersion, call, probability, barrier, forecast, recordedLate } = verdict
  const about = {
    exchange,
    coin,
    timeframe,
    verdictId,
    barClose,
    validUntil,
    modelVersion,
    call,
    probability,
  }
  const data = { ...about, barrier, forecast, recordedLate, barsMissed: barsMissed(verdict), ...end }
  return factIn(outcomeStream(verdict), 'OutcomeLabelled', data, at)
}

/** The bars that a service serves, all of them. */
export function barsAnswer(path: string): Buffer {
  const query = new URLSearchParams(path.split('?')[1])
  const [exchange, coin, timeframe] = ['exchange', 'coin', 'timeframe'].map((name) => query.get(name))
  const [from, to] = [Number(query.get('from')), Number(query.get('to'))]
  const series = { exchange, coin, timeframe } as Series
  const bars = barsBetween(series, from, Math.min(to, NOW)).filter(
    ({ openTime }) => openTime + timeframeMs(series.timeframe) <= NOW,
  )
  const rest = { market: 'live', source: 'test', from, to, gaps: [], funding: [], next: null }
  return Buffer.from(JSON.stringify({ ...series, ...rest, bars }))
}

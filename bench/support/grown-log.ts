import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isoTime } from '../../contracts/domain/iso-time.ts'
import type { Exchange, Series } from '../../contracts/domain/series.ts'
import { DAY_MS, type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import { REGIMES, type Regime, WINDOW_BARS } from '../../contracts/domain/verdict.ts'
import {
  deliveryStream,
  outcomeStream,
  paymentStream,
  quotaStream,
  subscriptionStream,
  verdictStream,
} from '../../contracts/events/streams.ts'
import type { NewEvent } from '../../contracts/infra/event.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { EventStore } from '../../services/log/event-store.ts'
import { timedUuidV8, uuidV7 } from '../../services/runtime/ids/uuid.ts'
import { appendNext } from '../../testing/append-next.ts'

const EXCHANGES: readonly Exchange[] = ['BINANCE', 'BYBIT', 'HL']
const COINS = ['BTC', 'ETH', 'DOGE', ...Array.from({ length: 17 }, (_, n) => `C${n}`)]
const TIMEFRAMES: readonly Timeframe[] = ['5m', '15m', '30m', '1h', '4h', '1d']
const STEP_MS = timeframeMs('5m')
/** Events of a day, about: two of each bar of each series, and those of callers and subscribers. */
const EVENTS_A_DAY = 68_700
const [PAYERS, SUBSCRIPTIONS] = [400, 40]
const [DEBITS_A_STEP, PAYMENTS_A_STEP, DELIVERIES_A_STEP] = [30, 2, 20]

const fixture = (name: string): NewEvent & { data: JsonObject } =>
  JSON.parse(readFileSync(join(import.meta.dirname, `../../contracts/events/fixtures/${name}.json`), 'utf8'))

const TEMPLATES = {
  verdict: fixture('VerdictRecorded.v1'),
  outcome: fixture('OutcomeLabelled.v1'),
  debit: fixture('QuotaDebited.v1'),
  delivery: fixture('DeliveriesAttempted.v1'),
  created: fixture('SubscriptionCreated.v1'),
  removed: fixture('SubscriptionRemoved.v1'),
}
/** A payment from its claim to the block that nothing undoes. */
const PAYMENT = [
  'PaymentClaimed.v1',
  'SettlementRequested.v1',
  'SettlementBroadcast.v1',
  'SettlementConfirmed.v1',
  'SettlementFinalised.v1',
].map(fixture)
/** Names of factors, as the model of today has them: an event is as long as the service's. */
const FACTORS =
  `bias range_position wick_balance momentum_12 momentum_24 momentum_96 price_to_ema50 volume_momentum
  funding_level`.split(/\s+/)

const eventOf = ({ type, schema, meta }: NewEvent, id: string, data: JsonObject): NewEvent => ({
  id,
  type,
  schema,
  data,
  meta: { ...meta, correlationId: id },
})

interface OpenVerdict {
  readonly id: string
  readonly data: JsonObject
}

/** A series with its verdicts whose window is open, oldest first. */
interface Grown extends Series {
  regime: Regime
  regimeSince: number
  readonly open: OpenVerdict[]
}

const placeOf = ({ exchange, coin, timeframe }: Series): Series => ({ exchange, coin, timeframe })

/** The events of one series at the close of a bar: its verdict, and the outcome that is due. */
function closeBar(series: Grown, barClose: number): Readonly<Record<'verdicts' | 'outcomes', NewEvent[]>> {
  const { timeframe } = series
  const place = placeOf(series)
  const bar = timeframeMs(timeframe)
  const id = timedUuidV8(barClose, randomBytes(10).toString('hex'))
  const before = series.regime
  if (Math.random() < 0.06) {
    series.regime = REGIMES[Math.floor(Math.random() * REGIMES.length)] ?? before
    if (series.regime !== before) series.regimeSince = barClose
  }
  const isCall = Math.random() < 0.5
  const probability = isCall ? 0.44 + Math.random() * 0.12 : 0.5
  const data: JsonObject = {
    ...TEMPLATES.verdict.data,
    ...place,
    verdictId: id,
    barClose,
    validUntil: barClose + WINDOW_BARS[timeframe] * bar,
    call: isCall ? (probability > 0.5 ? 'BUY' : 'SELL') : 'HOLD',
    confidence: Math.round(100 * Math.max(probability, 1 - probability)),
    strength: Math.floor(Math.random() * 101),
    probability,
    regime: series.regime,
    regimeSince: series.regimeSince,
    volatilityPercentile: Math.random(),
    price: 100 * Math.random() + 1,
    factors: FACTORS.map((name) => ({
      name,
      value: Math.random(),
      contribution: Math.random() - 0.5,
      status: 'measured',
    })),
    reasoning: `Leans in a market that is ${series.regime.toLowerCase()}, since the wicks of the last bars outweigh the trend. By the end of the window the price is within -6.1 % and +6.5 % in four of five cases.`,
    inputsHash: randomBytes(32).toString('hex'),
    previous: { barClose: barClose - bar, regime: before },
    recordedLate: false,
  }
  series.open.push({ id, data })
  const verdict = eventOf(TEMPLATES.verdict, id, data)
  const due = Number(series.open[0]?.data.validUntil) <= barClose ? series.open.shift() : undefined
  return { verdicts: [verdict], outcomes: due === undefined ? [] : [outcomeOf(place, due, bar)] }
}

function outcomeOf(place: Series, { id: verdictId, data }: OpenVerdict, bar: number): NewEvent {
  const { barClose, validUntil, call, probability, barrier, forecast, price } = data
  const race = (['up', 'down', 'timeout'] as const)[Math.floor(Math.random() * 3)] ?? 'up'
  const exitPrice = Number(price) * (1 + (race === 'up' ? 1 : -1) * Number(barrier))
  return {
    ...eventOf(TEMPLATES.outcome, timedUuidV8(Number(validUntil), randomBytes(10).toString('hex')), {
      ...TEMPLATES.outcome.data,
      ...place,
      verdictId,
      barClose,
      validUntil,
      call,
      probability,
      barrier,
      forecast,
      race,
      exitPrice,
      entryPrice: price as number,
      closePrice: exitPrice,
      decidedAt: race === 'timeout' ? null : Number(barClose) + 2 * bar,
      recordedLate: false,
    } as JsonObject),
  }
}

const hex = (bytes: number): string => randomBytes(bytes).toString('hex')

/** Events that callers and subscribers cause at an instant: debits, payments that are settled, deliveries. */
function traffic(now: number, payers: readonly string[], subscriptions: readonly string[]) {
  const newId = (): string => uuidV7(now, randomBytes(10))
  const one = <T>(of: readonly T[]): T => of[Math.floor(Math.random() * of.length)] as T
  const month = isoTime(now).slice(0, 7)
  const answer = JSON.stringify(TEMPLATES.verdict.data)
  const debits = Array.from({ length: DEBITS_A_STEP }, () => {
    const payerId = one(payers)
    const window = { id: month, from: Date.parse(`${month}-01`), to: Date.parse(`${month}-01`) + 31 * DAY_MS }
    const data = {
      ...TEMPLATES.debit.data,
      payerId,
      window,
      day: isoTime(now).slice(0, 10),
      answer,
      requestHash: hex(32),
    }
    return { stream: quotaStream(payerId, month), events: [eventOf(TEMPLATES.debit, newId(), data)] }
  })
  const payments = Array.from({ length: PAYMENTS_A_STEP }, () => {
    const [paymentId, nonce, payer, transaction] = [newId(), `0x${hex(32)}`, `0x${hex(20)}`, `0x${hex(32)}`]
    const [contract, chainId] = [PAYMENT[0]?.data.contract as string, 8453]
    const events = PAYMENT.map((template) => {
      const own = { paymentId, ...('transaction' in template.data ? { transaction } : {}) }
      const claim = 'nonce' in template.data ? { nonce, payer, answer } : {}
      return eventOf(template, newId(), { ...template.data, ...own, ...claim })
    })
    return { stream: paymentStream({ chainId, contract, payer, nonce }), events }
  })
  const deliveries = Array.from({ length: DELIVERIES_A_STEP }, () => {
    const subscriptionId = one(subscriptions)
    const data = { ...TEMPLATES.delivery.data, subscriptionId }
    return { stream: deliveryStream(subscriptionId), events: [eventOf(TEMPLATES.delivery, newId(), data)] }
  })
  return [...debits, ...payments, ...deliveries]
}

/**
 * Grows a log as a service writes it over weeks: verdicts of 360 series of three exchanges, outcomes, calls of
 * 400 keys, payments that are settled, deliveries to webhooks that were removed since.
 *
 * @param clock the store's clock is set by it: events are appended at the instant of their bar
 * @param events about how many
 */
export async function growLog(
  store: EventStore,
  { events, clock, end }: { events: number; clock: (now: number) => void; end: number },
): Promise<number> {
  const steps = Math.max(1, Math.ceil((events / EVENTS_A_DAY) * (DAY_MS / STEP_MS)))
  const first = Math.floor(end / STEP_MS - steps) * STEP_MS
  const series = EXCHANGES.flatMap((exchange) =>
    COINS.flatMap((coin) =>
      TIMEFRAMES.map(
        (timeframe): Grown => ({
          exchange,
          coin,
          timeframe,
          regime: 'RANGING',
          regimeSince: first,
          open: [],
        }),
      ),
    ),
  )
  const payers = Array.from({ length: PAYERS }, () => uuidV7(first, randomBytes(10)))
  const subscriptions = Array.from({ length: SUBSCRIPTIONS }, () => uuidV7(first, randomBytes(10)))
  let appended = 0
  const append = async (stream: string, list: readonly NewEvent[]): Promise<void> => {
    if (list.length === 0) return
    appended += list.length
    await appendNext(store, stream, list)
  }
  clock(first)
  for (const subscriptionId of subscriptions)
    await append(
      subscriptionStream(subscriptionId),
      [TEMPLATES.created, TEMPLATES.removed].map((template) =>
        eventOf(template, uuidV7(first, randomBytes(10)), { ...template.data, subscriptionId }),
      ),
    )
  for (let step = 1; step <= steps; step++) {
    const now = first + step * STEP_MS
    clock(now + 300)
    const closing = series.filter(({ timeframe }) => now % timeframeMs(timeframe) === 0)
    const bars = closing.map((one) => ({ one, ...closeBar(one, now) }))
    await Promise.all([
      ...bars.map(({ one, verdicts }) => append(verdictStream(one), verdicts)),
      ...bars.map(({ one, outcomes }) => append(outcomeStream(one), outcomes)),
      ...traffic(now, payers, subscriptions).map(({ stream, events: list }) => append(stream, list)),
    ])
  }
  // No market of these exchanges is there to label what is left.
  for (const one of series)
    await append(
      outcomeStream(one),
      one.open.map((due) => outcomeOf(placeOf(one), due, timeframeMs(one.timeframe))),
    )
  return appended
}

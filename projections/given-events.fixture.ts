import type { z } from 'zod'
import type { Outcome } from '../contracts/domain/outcome.ts'
import { aVerdict } from '../contracts/domain/verdict.fixture.ts'
import { barsMissed, type Verdict } from '../contracts/domain/verdict.ts'
import {
  decodeEvent,
  EVENT_CATALOGUE,
  type EventType,
  OutcomeLabelled,
  type ServiceEvent,
  VerdictRecorded,
} from '../contracts/events/event-catalogue.ts'
import { type EventDefinition, newEvent } from '../contracts/events/event-definition.ts'
import { ChatAnswered, QuotaDebited } from '../contracts/events/quota-events.ts'
import {
  accountStream,
  chatStream,
  outcomeStream,
  paymentStream,
  quotaStream,
  subscriptionStream,
  verdictStream,
} from '../contracts/events/streams.ts'
import type { NewEvent, RecordedEvent } from '../contracts/infra/event.ts'
import type { JsonObject } from '../contracts/infra/json.ts'
import { type Position, START } from '../contracts/infra/position.ts'
import type { EventStore } from '../services/log/event-store.ts'
import { appendNext } from '../testing/append-next.ts'
import { type Projection, rowsInMemory } from './projection.ts'

/** An event and the stream it is to be found in, for {@link given}. */
export interface Fact {
  readonly stream: string
  readonly event: NewEvent
}

const META = { correlationId: 'given', actor: 'test' }

/** Appends facts to a log, each behind what its stream has. @returns where the last one stands */
export async function appendFacts(store: Pick<EventStore, 'append' | 'read'>, ...facts: readonly Fact[]) {
  let place: { readonly position: Position; readonly revision: number } = { position: START, revision: -1 }
  for (const { stream, event } of facts) place = await appendNext(store, stream, [event])
  return place
}

let ids = 0
/** Ids that a test tells apart; each is another. */
export const nextFactId = (): string => `0190b000-0000-8000-8000-${(++ids).toString(16).padStart(12, '0')}`

export function verdictRecorded(change: Partial<Verdict> = {}): Fact {
  const data = aVerdict(change)
  return {
    stream: verdictStream(data),
    event: newEvent(VerdictRecorded, { id: data.verdictId, data, meta: META }),
  }
}

/** The outcome of a verdict; without a change, its window closed before a barrier was reached. */
export function outcomeLabelled(change: Partial<Outcome> = {}): Fact {
  const { verdictId, exchange, coin, timeframe, barClose, validUntil, ...verdict } = aVerdict({
    barClose: change.barClose ?? Date.UTC(2025, 0, 1),
  })
  const { modelVersion, call, probability, barrier, forecast } = verdict
  const about = {
    verdictId,
    exchange,
    coin,
    timeframe,
    barClose,
    validUntil,
    modelVersion,
    call,
    probability,
  }
  const ended = { race: 'timeout', entryPrice: 100, exitPrice: 100, decidedAt: null } as const
  const rest = { highest: 0, lowest: 0, forecast, closePrice: 100, recordedLate: false, barsMissed: 0 }
  const data: Outcome = { ...about, barrier, ...ended, ...rest, ...change }
  return {
    stream: outcomeStream(data),
    event: newEvent(OutcomeLabelled, { id: data.verdictId, data, meta: META }),
  }
}

/** The outcome of a recorded verdict, as an event of its own. */
export function outcomeOf(verdict: Verdict, change: Partial<Outcome> = {}): Fact {
  const { verdictId, exchange, coin, timeframe, barClose, validUntil, modelVersion, call } = verdict
  const { probability, barrier, forecast, recordedLate } = verdict
  const about = { verdictId, exchange, coin, timeframe, barClose, validUntil, modelVersion, call }
  const said = { probability, barrier, forecast, recordedLate, barsMissed: barsMissed(verdict) }
  const fact = outcomeLabelled({ ...about, ...said, ...change })
  return { ...fact, event: { ...fact.event, id: nextFactId() } }
}

/** An event of the stream of its account. */
export const accountFact = <Data extends JsonObject & { accountId: string }>(
  definition: EventDefinition<string, Data>,
  data: Data,
): Fact => ({
  stream: accountStream(data.accountId),
  event: newEvent(definition, { id: '0190a000-0000-7000-8000-00000000acc0', data, meta: META }),
})

/** An event of the stream of its subscription. */
export const subscriptionFact = <Data extends JsonObject & { subscriptionId: string }>(
  definition: EventDefinition<string, Data>,
  data: Data,
): Fact => ({
  stream: subscriptionStream(data.subscriptionId),
  event: newEvent(definition, { id: '0190a000-0000-7000-8000-00000000abc0', data, meta: META }),
})

const PAYER_ID = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const NOVEMBER = { id: '2026-11', from: Date.UTC(2026, 10, 1), to: Date.UTC(2026, 11, 1) }

/** A counted call; without a change, the first of a payer, without an idempotency key. */
export function quotaDebited(change: Partial<z.infer<typeof QuotaDebited.data>> = {}): Fact {
  const data = {
    payerId: PAYER_ID,
    window: NOVEMBER,
    day: '2026-11-21',
    tool: 'get_trade_call',
    channel: 'http' as const,
    keyId: null,
    requestHash: '1'.repeat(64),
    idempotencyHash: null,
    answer: '{"call":"HOLD"}',
    used: 1,
    usedToday: 1,
    ...change,
  }
  const event = newEvent(QuotaDebited, { id: '0190a000-0000-7000-8000-00000000000d', data, meta: META })
  return { stream: quotaStream(data.payerId, data.window.id), event }
}

/** An answered chat of the same payer. */
export function chatAnswered(change: Partial<z.infer<typeof ChatAnswered.data>> = {}): Fact {
  const data = {
    payerId: PAYER_ID,
    window: NOVEMBER,
    keyId: '0190a000-0000-7000-8000-00000000000a',
    requestHash: '1'.repeat(64),
    idempotencyHash: null,
    channel: 'http' as const,
    model: 'extractive',
    answer: '{"answer":"Ten."}',
    used: 1,
    ...change,
  }
  const event = newEvent(ChatAnswered, { id: '0190a000-0000-7000-8000-00000000000f', data, meta: META })
  return { stream: chatStream(data.payerId, data.window.id), event }
}

const PAYER_ADDRESS = `0x${'a1'.repeat(20)}`

type PaymentEventType = Extract<
  EventType,
  `Payment${string}` | `Payer${string}` | `Settlement${string}` | 'RefundSent'
>

/** The id of the payment with a number. */
export const paymentIdOf = (number: number): string =>
  `0190a000-0000-7000-8000-${String(number).padStart(12, '0')}`

/**
 * An event of a payment or a payer. A claim is filled up: without more, 0.02 USDC for a trade call, served first.
 *
 * @param claim what of its claim is not as usual
 */
export function paymentFact(
  type: PaymentEventType,
  data: JsonObject,
  claim: { readonly payer?: string | undefined; readonly [member: string]: unknown } = {},
): Fact {
  const { payer = PAYER_ADDRESS, paymentId = '0190a000-0000-7000-8000-0000000000b1' } = {
    ...claim,
    ...data,
  } as {
    payer?: string
    paymentId?: string
  }
  const nonce = `0x${paymentId.replaceAll('-', '').padStart(64, '0')}`
  const contract = `0x${'c0'.repeat(20)}`
  const usual = {
    paymentId,
    rail: 'direct',
    protocol: 2,
    chainId: 8453,
    contract,
    asset: contract,
    payer,
    payTo: `0x${'22'.repeat(20)}`,
    value: '20000',
    validAfter: '0',
    validBefore: 1_800_000_300,
    nonce,
    signature: `0x${'ab'.repeat(65)}`,
    product: 'get_trade_call',
    requestHash: '1'.repeat(64),
    answer: '{"call":"HOLD"}',
    accountId: null,
    isServedFirst: true,
  }
  const whole = type === 'PaymentClaimed' ? { ...usual, ...claim, ...data } : data
  const definition: EventDefinition = EVENT_CATALOGUE[type]
  const event = newEvent(definition, {
    id: '0190a000-0000-7000-8000-0000000000b0',
    data: whole as JsonObject,
    meta: META,
  })
  const stream = paymentStream({ chainId: 8453, contract, payer, nonce })
  return { stream, event }
}

/** Facts as a fold meets them: at the positions 1, 2, …, read back from JSON, decoded, and not to be changed. */
export const given = (...facts: readonly Fact[]): ServiceEvent[] =>
  facts.map(({ stream, event }, index) => {
    const place = { stream, revision: index, position: String(index + 1), at: '2025-01-01T00:00:00.000Z' }
    return decodeEvent(frozen(JSON.parse(JSON.stringify({ ...event, ...place }))) as RecordedEvent)
  })

/** A reviver would be five times as slow. */
function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) frozen(part)
  return Object.freeze(value)
}

/** The rows that a projection makes of events, by key. */
export function fold<Row extends JsonObject>(
  projection: Projection<Row>,
  events: readonly ServiceEvent[],
): Record<string, Row> {
  const rows = rowsInMemory<Row>()
  for (const event of events) projection.fold(rows, event)
  return Object.fromEntries(rows.entries)
}

/** Pages of rows, as the tables of a projector give them. */
export const rangeIn =
  <Row>(entries: Iterable<readonly [string, Row]>) =>
  ({
    prefix = '',
    after,
    limit,
    direction = 'forwards',
  }: {
    readonly prefix?: string | undefined
    readonly after?: string | undefined
    readonly limit: number
    readonly direction?: 'forwards' | 'backwards' | undefined
  }): { key: string; row: Row }[] => {
    const way = direction === 'forwards' ? 1 : -1
    return [...entries]
      .filter(([key]) => key.startsWith(prefix))
      .filter(([key]) => after === undefined || (way === 1 ? key > after : key < after))
      .toSorted(([one], [other]) => (one < other ? -way : way))
      .slice(0, limit)
      .map(([key, row]) => ({ key, row }))
  }

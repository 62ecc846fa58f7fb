import { isTimeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import { isServiceError } from '../../contracts/errors/errors.ts'
import { decodeEvent, type ServiceEvent } from '../../contracts/events/event-catalogue.ts'
import { comparePositions, START } from '../../contracts/infra/position.ts'
import type { EventStore, ReadAllOptions } from '../../services/log/event-store.ts'
import { evolvePayment, type Payment } from '../../services/payments/payment.ts'
import type { Records } from './records.ts'

type EventOf<Type extends ServiceEvent['type']> = Extract<ServiceEvent, { readonly type: Type }>

/** How often a reading is tried again that brought nothing new, and how long it rests before it is. */
const TRIES = { most: 12, restMs: 5_000 } as const
const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * The log, in its order: all of it, or a part. Where the store breaks the reading off it goes on behind the last event
 * that it got, so that a store that struggles costs the auditor time and not its verdict.
 *
 * @throws ServiceError of the store: `store_unavailable` where a minute of tries brought nothing, others at once
 * @example await readLog(store, { after: position, filter: { streamPrefixes: ['payment-'] } })
 */
export async function readLog(
  store: Pick<EventStore, 'readAll'>,
  { after = START, filter }: Pick<ReadAllOptions, 'after' | 'filter'> = {},
  pause = rest,
): Promise<ServiceEvent[]> {
  const events: ServiceEvent[] = []
  for (let tries = 0; ; ) {
    const behind = events.at(-1)?.position ?? after
    try {
      for await (const event of store.readAll({ after: behind, ...(filter && { filter }) })) {
        events.push(decodeEvent(event))
        tries = 0
      }
      return events
    } catch (error) {
      if (!isServiceError(error, 'store_unavailable') || ++tries > TRIES.most) throw error
      await pause(TRIES.restMs)
    }
  }
}

/** Contradictions between the log and the view from outside, and events that no log may hold. */
export const audit = (log: readonly ServiceEvent[], records: Records): string[] => [
  ...records.faults,
  ...onceEach(log),
  ...calls(log, records),
  ...keys(log, records),
  ...counts(log),
  ...verdicts(log),
  ...deliveries(log, records),
  ...leases(log),
  ...freshKeys(records),
  ...payments(log, records),
  ...reads(log, records),
]

const ofType = <Type extends ServiceEvent['type']>(
  log: readonly ServiceEvent[],
  type: Type,
): EventOf<Type>[] => log.filter((event): event is EventOf<Type> => event.type === type)

function onceEach(log: readonly ServiceEvent[]): string[] {
  const seen = new Set<string>()
  return log.flatMap(({ id, type, stream }) => {
    if (!seen.has(id)) {
      seen.add(id)
      return []
    }
    return [`the event ${id} (${type}) is in the log more than once, again in ${stream}`]
  })
}

const debitsByRequest = (log: readonly ServiceEvent[]): ReadonlyMap<string, EventOf<'QuotaDebited'>[]> =>
  Map.groupBy(ofType(log, 'QuotaDebited'), ({ meta }) => meta.correlationId)

/** Refusals that say that the call may have been counted. */
const SAYS_UNKNOWN: ReadonlySet<string | undefined> = new Set(['outcome_unknown'])

/** An answered call without a key has one debit, with the number that its caller was shown; a refused one has none. */
function calls(log: readonly ServiceEvent[], records: Records): string[] {
  const debits = debitsByRequest(log)
  return records.calls.flatMap((call) => {
    const found = call.requestId === undefined ? [] : (debits.get(call.requestId) ?? [])
    const what = `the call ${call.requestId} (${call.idempotencyKey === undefined ? 'plain' : 'keyed'})`
    if (call.code === 'internal_error') return [`${what} was refused for a fault: ${call.message}`]
    if (!call.isOk) {
      const isTold = SAYS_UNKNOWN.has(call.code) || call.status === 0
      return found.length > 0 && !isTold
        ? [`${what} was refused as ${call.code}, and is counted: ${call.message}`]
        : []
    }
    if (call.idempotencyKey !== undefined) return []
    if (found.length !== 1) return [`${what} was answered, and is counted ${found.length} times`]
    const [debit] = found
    return debit?.data.used === call.used
      ? []
      : [`${what} was shown ${call.used}, and is ${debit?.data.used}`]
  })
}

/** All calls under one key have one debit between them, and one answer. */
function keys(log: readonly ServiceEvent[], records: Records): string[] {
  const debits = debitsByRequest(log)
  const keyed = records.calls.filter(({ idempotencyKey }) => idempotencyKey !== undefined)
  return [...Map.groupBy(keyed, ({ idempotencyKey }) => idempotencyKey)].flatMap(([key, under]) => {
    const answered = under.filter(({ isOk }) => isOk)
    const counted = under.reduce((sum, { requestId }) => sum + (debits.get(requestId ?? '')?.length ?? 0), 0)
    // The call that was counted may be one whose caller saw no answer and no id.
    const isBlind = under.some(({ requestId }) => requestId === undefined)
    const answers = new Set(answered.map(({ verdictId }) => verdictId))
    const isMiscounted = counted > 1 || (answered.length > 0 && counted === 0 && !isBlind)
    return [
      ...(isMiscounted
        ? [`the key ${key} was answered ${answered.length} times and counted ${counted} times`]
        : []),
      ...(answers.size > 1 ? [`the key ${key} got ${answers.size} different answers`] : []),
    ]
  })
}

/** Each window counts from one without a gap, and a free one not past its day. */
function counts(log: readonly ServiceEvent[]): string[] {
  const MOST_FREE_A_DAY = 100
  const debits = ofType(log, 'QuotaDebited')
  return [...Map.groupBy(debits, ({ stream }) => stream)].flatMap(([stream, own]) =>
    own.flatMap(({ data: { used, usedToday, window } }, index) => [
      ...(used === index + 1 ? [] : [`${stream} counts ${used} where ${index + 1} is due`]),
      ...(/^\d{4}-\d{2}$/.test(window.id) && usedToday > MOST_FREE_A_DAY
        ? [`${stream} counts ${usedToday} free calls in a day`]
        : []),
    ]),
  )
}

/** A series has one verdict for each bar between its first and its last. */
function verdicts(log: readonly ServiceEvent[]): string[] {
  const all = ofType(log, 'VerdictRecorded')
  return [...Map.groupBy(all, ({ stream }) => stream)].flatMap(([stream, own]) =>
    own.slice(1).flatMap(({ data }, index) => {
      const before = own[index]?.data.barClose ?? 0
      const bars = (data.barClose - before) / (isTimeframe(data.timeframe) ? timeframeMs(data.timeframe) : 1)
      return bars === 1
        ? []
        : [`${stream} goes on ${bars} bars behind the one of ${new Date(before).toISOString()}`]
    }),
  )
}

/** A signal that a subscription is due. */
interface Due {
  readonly event: 'trade_call' | 'regime_shift'
  readonly verdictId: string
}

/** Signals of a verdict, in their order: its call, and a new regime. */
function signalsOf({ verdictId, call, regime, previous }: EventOf<'VerdictRecorded'>['data']): Due[] {
  const hasShifted = previous !== null && previous.regime !== regime
  return [
    ...(call === 'HOLD' ? [] : [{ event: 'trade_call', verdictId } as const]),
    ...(hasShifted ? [{ event: 'regime_shift', verdictId } as const] : []),
  ]
}

/** Signals that each subscription is due, by its number. */
export const dueOf = (
  log: readonly ServiceEvent[],
  { start, filter }: Records['subscriptions'][number],
): Due[] =>
  ofType(log, 'VerdictRecorded')
    .filter(({ position }) => comparePositions(position, start) > 0)
    .filter(({ data }) => filter.timeframes === undefined || filter.timeframes.includes(data.timeframe))
    .flatMap(({ data }) => signalsOf(data))
    .filter(({ event }) => filter.events.includes(event))

/**
 * Tells how many deliveries of what is in a log have not come yet. What is due is looked for once: whoever waits asks
 * again and again, in the process that the store's double runs in.
 */
export function countMissing(log: readonly ServiceEvent[], records: Records): () => number {
  const due = records.subscriptions.flatMap((subscription) =>
    dueOf(log, subscription).map((_, index) => `${subscription.path} ${index + 1}`),
  )
  return () => {
    const come = new Set(records.deliveries.map(({ path, sequence }) => `${path} ${sequence}`))
    return due.filter((delivery) => !come.has(delivery)).length
  }
}

function deliveries(log: readonly ServiceEvent[], records: Records): string[] {
  const come = Map.groupBy(records.deliveries, ({ path }) => path)
  return records.subscriptions.flatMap((subscription) => {
    const { path } = subscription
    const bySequence = Map.groupBy(come.get(path) ?? [], ({ sequence }) => sequence)
    return dueOf(log, subscription).flatMap((due, index) => {
      const came = bySequence.get(index + 1) ?? []
      const isOther = came.some(({ verdictId, event }) => verdictId !== due.verdictId || event !== due.event)
      return [
        ...(came.length === 0 ? [`${path} has not got number ${index + 1}`] : []),
        ...(isOther ? [`${path} got something else as number ${index + 1}`] : []),
        ...(new Set(came.map(({ deliveryId }) => deliveryId)).size > 1
          ? [`${path} got number ${index + 1} under several ids`]
          : []),
      ]
    })
  })
}

/** No shard has two holders, and tokens only rise. */
function leases(log: readonly ServiceEvent[]): string[] {
  const tables = log.filter(
    (event): event is EventOf<'LeaseTaken'> | EventOf<'LeaseReleased'> =>
      event.type === 'LeaseTaken' || event.type === 'LeaseReleased',
  )
  return [...Map.groupBy(tables, ({ stream }) => stream)].flatMap(([stream, own]) => {
    const newest = new Map<number, { readonly holder: string; readonly token: number }>()
    return own.flatMap(({ revision, data }) => {
      const held = new Set<number>()
      return data.table.flatMap(({ holder, shards }) =>
        shards.flatMap(({ shard, token }) => {
          const before = newest.get(shard)
          newest.set(shard, { holder, token })
          const isTwice = held.has(shard)
          held.add(shard)
          const isBack = before !== undefined && token < before.token
          const isShared = before?.token === token && before.holder !== holder
          return isTwice || isBack || isShared
            ? [`${stream} at revision ${revision} contradicts what was said of shard ${shard}`]
            : []
        }),
      )
    })
  })
}

/** A key works everywhere from the answer of its issue; a process that cannot tell says so. */
const freshKeys = ({ freshKeys: seen }: Records): string[] =>
  seen.flatMap(({ status, code }) => (status === 401 ? [`a key that was just issued is ${code}`] : []))

/** Every payment as its stream tells it, by its stream. */
export function paymentsIn(log: readonly ServiceEvent[]): ReadonlyMap<string, Payment> {
  const all = new Map<string, Payment>()
  for (const event of log) {
    const payment = evolvePayment(all.get(event.stream), event)
    if (payment !== undefined) all.set(event.stream, payment)
  }
  return all
}

const isPaid = ({ state }: Payment): boolean => state === 'confirmed' || state === 'final'

/** An authorization is claimed once and paid once, has one answer, and what the log says has come is on the chain. */
function payments(log: readonly ServiceEvent[], { payments: seen, received }: Records): string[] {
  const all = paymentsIn(log)
  const byNonce = Map.groupBy(ofType(log, 'PaymentClaimed'), ({ data }) => data.nonce)
  const known = [...all.values()]
  const paid = known.filter(isPaid).reduce((sum, { value }) => sum + BigInt(value), 0n)
  return [
    ...seen.flatMap(({ nonce, answers }) => {
      const claims = byNonce.get(nonce)?.length ?? 0
      const differ = new Set(answers.map(({ paymentId, verdictId }) => `${paymentId} ${verdictId}`)).size > 1
      const isMiscounted = claims > 1 || (claims === 0 && answers.length > 0)
      return [
        ...(isMiscounted ? [`the authorization ${nonce} was answered and claimed ${claims} times`] : []),
        ...(differ ? [`the authorization ${nonce} got different answers`] : []),
      ]
    }),
    ...known
      .filter((payment) => !isPaid(payment))
      .map(({ paymentId, state, reason }) => `the payment ${paymentId} stayed ${state}: ${reason}`),
    ...(received === undefined || received === paid
      ? []
      : [`the receiver has ${received}, and ${paid} have come by the log`]),
  ]
}

/** A payment may become final while it is read: both states count as one. */
export const stateOf = (state: string | undefined): string | undefined =>
  state === 'final' ? 'confirmed' : state

/** Checks that the read models of every process agree with the log. */
function reads(log: readonly ServiceEvent[], { reads: seen }: Records): string[] {
  const debits = Map.groupBy(ofType(log, 'QuotaDebited'), ({ data }) => data.payerId)
  const byId = new Map([...paymentsIn(log).values()].map((payment) => [payment.paymentId, payment]))
  return seen.flatMap(({ member, of, says }) => {
    const [what, inLog] =
      'account' in of
        ? [`account ${of.account}`, debits.get(of.account)?.length ?? 0]
        : [`payment ${of.paymentId}`, stateOf(byId.get(of.paymentId)?.state)]
    return says === inLog ? [] : [`${member} says ${says} of ${what}, and the log ${inLog}`]
  })
}

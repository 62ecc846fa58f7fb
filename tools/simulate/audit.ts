import { decodeEvent, type ServiceEvent } from '../../contracts/events/event-catalogue.ts'
import type { NewEvent, RecordedEvent } from '../../contracts/infra/event.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { PROJECTIONS, rowsInMemory } from '../../projections/index.ts'
import type { Projector } from '../../services/log/projector/projector.ts'
import { evolvePayment, isOpen, type Payment } from '../../services/payments/payment.ts'
import { payments as paymentRows } from '../../services/payments/payments-projection.ts'
import { subscriptionsReadModel } from '../../services/webhooks/index.ts'
import { audit as auditFromOutside, dueOf } from '../cluster/audit.ts'
import { type DeliverySeen, noRecords, type Records } from '../cluster/records.ts'
import type { Seen, SubscribedAddress } from './workload.ts'
import type { World } from './world.ts'

/** All that is known of a run from outside its processes. */
export interface Evidence {
  readonly world: World
  readonly seen: Seen
  readonly deliveries: readonly DeliverySeen[]
  readonly subscribed: readonly SubscribedAddress[]
}

/** Invariants of any moment, checked again and again. */
export function auditNow({ places }: World): string[] {
  const holders = new Map<string, string>()
  return places.flatMap((place) =>
    [...(place.service()?.leases ?? [])].flatMap(([group, leases]) =>
      leases.held().flatMap(({ shard }) => {
        const other = holders.get(`${group} ${shard}`)
        holders.set(`${group} ${shard}`, place.name)
        return other === undefined ? [] : [`${other} and ${place.name} both work on ${group} ${shard}`]
      }),
    ),
  )
}

/** Work that is not over yet; empty once all is. */
export function unfinished(evidence: Evidence): string[] {
  const { world, deliveries, subscribed } = evidence
  const log = logOf(world)
  const missing = world.places.filter((place) => place.service() === undefined)
  const come = new Set(deliveries.map(({ path, sequence }) => `${path} ${sequence}`))
  const due = subscriptionsOf(log, subscribed).flatMap((subscription) =>
    dueOf(log, subscription).map((_, index) => `${subscription.path} ${index + 1}`),
  )
  const left = [
    ...missing.map(({ name }) => `${name} does not answer`),
    ...due.filter((one) => !come.has(one)).map((one) => `${one} was not delivered`),
    ...[...paymentsOf(log).values()]
      .filter(isOpen)
      .map(({ paymentId, state }) => `the payment ${paymentId} is ${state}, and stays so`),
  ]
  // What costs most is looked at once nothing else is left.
  return left.length > 0 ? left : readModels(world, log)
}

/** Contradictions between the log, the chain and the callers, once all work is over. */
export function auditAtEnd(evidence: Evidence): string[] {
  const { world, seen, deliveries, subscribed } = evidence
  const log = logOf(world)
  const records: Records = {
    ...noRecords(),
    calls: seen.calls,
    deliveries: [...deliveries],
    subscriptions: subscriptionsOf(log, subscribed),
  }
  return [...auditFromOutside(log, records), ...appends(world, log), ...payments(world, seen, log)]
}

const decoded = new WeakMap<RecordedEvent, ServiceEvent>()

function logOf({ server }: World): ServiceEvent[] {
  return server.log().map((recorded) => {
    const event = decoded.get(recorded) ?? decodeEvent(recorded)
    decoded.set(recorded, event)
    return event
  })
}

function subscriptionsOf(
  log: readonly ServiceEvent[],
  subscribed: readonly SubscribedAddress[],
): Records['subscriptions'] {
  const urls = new Map(subscribed.map(({ subscriptionId, url }) => [subscriptionId, url]))
  return log.flatMap((event) => {
    const path = event.type === 'SubscriptionCreated' ? urls.get(event.data.subscriptionId) : undefined
    if (event.type !== 'SubscriptionCreated' || path === undefined) return []
    const { subscriptionId: id, accountId, startAfter: start, filter } = event.data
    return [{ id, accountId, path, start, filter: { events: filter.events } }]
  })
}

/** Checks that every acknowledged append is in the log at its place, and no append in part. */
function appends({ acknowledged, asked }: World, log: readonly ServiceEvent[]): string[] {
  const places = new Map(log.map(({ id, stream, revision }) => [id, { stream, revision }]))
  const isThere = ({ id }: NewEvent): boolean => places.has(id)
  // Streams of people are in no reading of the whole log.
  const isRead = ({ stream }: { readonly stream: string }): boolean => !stream.startsWith('subject-')
  const lost = acknowledged.filter(isRead).flatMap(({ stream, events, result }) =>
    events.flatMap(({ id, type }, index) => {
      const place = places.get(id)
      const revision = result.revision - events.length + 1 + index
      if (place?.stream === stream && place.revision === revision) return []
      return [`${type} ${id} was acknowledged as revision ${revision} of ${stream}, and is not there`]
    }),
  )
  // What was refused together may be asked for again apart, and one of two callers may have given up meanwhile.
  const isWhole = ({ events }: { readonly events: readonly NewEvent[] }): boolean => events.every(isThere)
  const whole = new Set(asked.filter(isWhole).flatMap(({ events }) => events.map(({ id }) => id)))
  const torn = asked
    .filter(isRead)
    .filter((one) => !isWhole(one) && one.events.some((event) => isThere(event) && !whole.has(event.id)))
    .map(
      ({ stream, events }) => `of ${events.length} events that were appended to ${stream}, a part is there`,
    )
  return [...new Set([...lost, ...torn])]
}

function paymentsOf(log: readonly ServiceEvent[]): ReadonlyMap<string, Payment> {
  const found = new Map<string, Payment>()
  for (const event of log) {
    if (!event.stream.startsWith('payment-')) continue
    const after = evolvePayment(found.get(event.stream), event)
    if (after !== undefined) found.set(event.stream, after)
  }
  return found
}

/** An authorization pays once, for one answer; what is final is on the chain, and what is given up is not. */
function payments({ chain }: World, { paid }: Seen, log: readonly ServiceEvent[]): string[] {
  const claims = log.filter((event) => event.type === 'PaymentClaimed')
  const answers = Map.groupBy(claims, ({ data }) => `${data.payer} ${data.nonce}`)
  const served = paid.flatMap(({ payer, nonce, verdictId }) => {
    if (verdictId === undefined) return []
    const claimed = answers.get(`${payer} ${nonce}`.toLowerCase()) ?? []
    if (claimed.length !== 1)
      return [`the authorization ${nonce} was answered, and is claimed ${claimed.length} times`]
    const { verdict_id: stored } = JSON.parse(claimed[0]?.data.answer ?? '{}') as {
      readonly verdict_id?: string
    }
    return stored === verdictId
      ? []
      : [`the authorization ${nonce} was answered ${verdictId}, and is claimed for ${stored}`]
  })
  const ended = [...paymentsOf(log)].flatMap(([stream, { paymentId, state, payer, transaction }]) => {
    const [claim] = log.filter((event) => event.type === 'PaymentClaimed' && event.stream === stream)
    if (claim?.type !== 'PaymentClaimed') return [`${stream} begins with no claim`]
    const { nonce } = claim.data
    const transfer = chain.transferOf({ payer: payer as `0x${string}`, nonce: nonce as `0x${string}` })
    const isFinal = state === 'final'
    if (isFinal && transfer?.transaction !== transaction)
      return [`the payment ${paymentId} is final, and the chain has no such transfer`]
    return !isFinal && transfer !== undefined
      ? [`the payment ${paymentId} is ${state}, and its money came`]
      : []
  })
  return [...new Set([...served, ...ended])]
}

/** Every read model of every process is what a fold of the whole log is. */
function readModels({ places }: World, log: readonly ServiceEvent[]): string[] {
  return [...PROJECTIONS, paymentRows, subscriptionsReadModel].flatMap((projection) => {
    const rows = rowsInMemory<JsonObject>()
    const types = new Set<string>(projection.events)
    for (const event of log) if (types.has(event.type)) projection.fold(rows, event)
    const expected = textOf([...rows.entries].map(([key, row]) => ({ key, row })))
    return places.flatMap((place) => {
      const projector = place.service()?.projector
      if (projector === undefined) return []
      return textOf(rowsOf(projector, projection)) === expected
        ? []
        : [`the read model ${projection.name} of ${place.name} is not what the log says`]
    })
  })
}

type Row = { readonly key: string; readonly row: JsonObject }

const textOf = (rows: readonly Row[]): string =>
  JSON.stringify(rows.toSorted((one, other) => (one.key < other.key ? -1 : 1)))

function rowsOf(projector: Projector, projection: (typeof PROJECTIONS)[number]): Row[] {
  const reader = projector.reader(projection)
  const all: Row[] = []
  for (;;) {
    const after = all.at(-1)?.key
    const page = reader.range({ limit: PAGE, ...(after !== undefined && { after }) })
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

const PAGE = 200

import { isServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { RequestedReplay, Subscription } from '../../../projections/index.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import { type Deliveries, sentThrough } from '../deliveries/delivery-state.ts'
import { placeIn } from '../deliveries/prepare-delivery.ts'
import { deliveriesBackwards, findFailed, isInFront } from '../deliveries/read-deliveries.ts'
import { quietUntil } from '../sending/chat-channel.ts'
import type { ChatChannels } from './chat-channels.ts'
import type { Change } from './decide-attempt.ts'
import type { DispatcherOptions } from './dispatcher-options.ts'
import type { Endpoint } from './endpoint.ts'
import type { EndpointLog } from './endpoint-log.ts'
import type { Effect, EndpointItem, Input, ReplayItem } from './endpoint-state.ts'
import type { OwnerNotices, Problem } from './owner-notices.ts'

/** Effects that ask the log something, or tell it; what comes of each happens to the endpoint in turn. */
export type SlowEffect = Extract<
  Effect,
  { kind: 'load' | 'drain' | 'seek' | 'say' | 'next_notice' | 'notify' }
>

export interface CarryOutOptions extends DispatcherOptions {
  readonly endpoints: EndpointLog
  readonly notices: OwnerNotices
  readonly journalOf: (endpoint: Endpoint) => Promise<DeliveryJournal>
  readonly channels: ChatChannels
}

type Replay = Extract<EndpointItem, { kind: 'replay' }>

/** @returns what happens to the endpoint because of it; undefined where nothing does */
export type CarryOut = (endpoint: Endpoint, effect: SlowEffect) => Promise<Input | undefined>

export function createCarryOut(options: CarryOutOptions): CarryOut {
  const works = worksOf(options)
  return async (endpoint, effect) => {
    try {
      return await works[effect.kind](endpoint, effect as never)
    } catch (error) {
      if (isServiceError(error, 'lease_lost')) return { kind: 'lost' }
      options.report(error)
      return failureOf(effect)
    }
  }
}

type Works = {
  readonly [Kind in SlowEffect['kind']]: (
    endpoint: Endpoint,
    effect: Extract<SlowEffect, { readonly kind: Kind }>,
  ) => Promise<Input | undefined>
}

const worksOf = (options: CarryOutOptions): Works => ({
  load: (endpoint) => load(options, endpoint),
  drain: (endpoint) => drain(options, endpoint),
  seek: (endpoint, { requests }) => seekAll(options, endpoint, requests),
  say: (endpoint, { change }) => say(options, endpoint, change),
  next_notice: (endpoint) => nextNotice(options, endpoint),
  notify: (endpoint, effect) => notify(options, endpoint, effect),
})

async function load(options: CarryOutOptions, endpoint: Endpoint): Promise<Input> {
  const { endpoints, deliveries } = options
  const subscription = await endpoints.newest(endpoint.state.subscription)
  const known = await deliveries.load(subscription)
  endpoint.knows(known)
  await restChannel(options, subscription, known)
  return { kind: 'loaded', subscription }
}

/** A chat that asked for quiet has it from every subscription that tells it something, also after a restart. */
async function restChannel(
  { directory, channels, now }: CarryOutOptions,
  subscription: Subscription,
  { open }: Deliveries,
): Promise<void> {
  const restMs = subscription.form === null ? 0 : (quietUntil(open.values()) ?? 0) - now()
  if (restMs <= 0) return
  const target = await directory.target(subscription)
  if (target !== undefined) channels.rest(target.url, restMs)
}

async function drain({ journalOf }: CarryOutOptions, endpoint: Endpoint): Promise<Input> {
  const journal = await journalOf(endpoint)
  await journal.forgiveFailures()
  await journal.move(endpoint.state.subscription, endpoint.underWay)
  return { kind: 'drained' }
}

/** Reads replays one after the other; the first that cannot be read is read again later, with the ones after it. */
async function seekAll(
  options: CarryOutOptions,
  endpoint: Endpoint,
  requests: readonly RequestedReplay[],
): Promise<Input> {
  const found: Replay[] = []
  const left = requests.map(({ replayId }) => replayId)
  try {
    for (const request of requests) {
      for (const replay of await seek(options, endpoint, request)) found.push(replay)
      left.shift()
    }
  } catch (error) {
    if (isServiceError(error, 'lease_lost')) throw error
    options.report(error)
  }
  return { kind: 'sought', found, missing: left }
}

async function seek(
  { store, journalOf }: CarryOutOptions,
  endpoint: Endpoint,
  request: RequestedReplay,
): Promise<Replay[]> {
  const { replayId, toSequence } = request
  const journal = await journalOf(endpoint)
  const { state } = journal
  const through = sentThrough(state, replayId)
  if (through >= toSequence) return []
  const items = await findReplayed(store, endpoint.id, request, { through, open: state.open })
  // Numbers that were never used, or what was taken meanwhile: without this it would be under way for ever.
  if (items.length === 0) await journal.endReplay(replayId, toSequence)
  return items.map((item) => ({ kind: 'replay', item, tries: 0 }))
}

async function say(
  { endpoints, metrics }: CarryOutOptions,
  endpoint: Endpoint,
  change: Change,
): Promise<Input> {
  metrics?.endpoint?.(change.kind)
  const subscription = await endpoints.say(endpoint.state.subscription, change)
  return { kind: 'said', subscription, change }
}

async function nextNotice({ notices }: CarryOutOptions, endpoint: Endpoint): Promise<Input | undefined> {
  const problem = troubleOf(endpoint)
  const next = problem && (await notices.next(endpoint.state.subscription, problem))
  if (problem === undefined || next === undefined) return undefined
  return { kind: 'notice_next', notice: next.kind, since: problem.since, at: next.at }
}

async function notify(
  options: CarryOutOptions,
  endpoint: Endpoint,
  { notice, since }: Extract<Effect, { kind: 'notify' }>,
): Promise<Input | undefined> {
  const problem = troubleOf(endpoint)
  if (problem?.since !== since) return undefined
  await options.notices.notify(endpoint.state.subscription, problem, notice)
  return nextNotice(options, endpoint)
}

function troubleOf({ state }: Endpoint): Problem | undefined {
  const { state: told, stateSince } = state.subscription
  return told === 'degraded' || told === 'disabled' ? { state: told, since: stateSince } : undefined
}

/** The input of an endpoint after an effect failed. */
function failureOf(effect: SlowEffect): Input | undefined {
  if (effect.kind === 'say') return { kind: 'failed_to_say', change: effect.change }
  if (effect.kind === 'notify') return { kind: 'failed_to_tell', notice: effect.notice, since: effect.since }
  return effect.kind === 'seek' ? undefined : { kind: 'failed', what: effect.kind }
}

/**
 * The deliveries of a replay as the delivery log has them, in their order: each with template and address that its
 * body was made with. What was never attempted is left out; its turn comes by itself.
 *
 * @param standing sequences up to `through` were sent again already; those that are `open` are tried again by themselves
 */
async function findReplayed(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  { replayId, fromSequence, toSequence, only }: RequestedReplay,
  { through, open }: { readonly through: number; readonly open: Pick<Deliveries['open'], 'has'> },
): Promise<ReplayItem[]> {
  const first = Math.max(fromSequence, through + 1)
  if (only === 'failed') {
    const failed = await findFailed(store, subscriptionId, { first, last: toSequence, open, replayId })
    const left = new Set(failed.map(({ sequence }) => sequence))
    return failed.map((one) => ({ ...one, replayId, toSequence, left }))
  }
  const last = Math.min(toSequence, fromSequence + LIMITS.webhookReplayDeliveries - 1)
  const found = new Map<number, ReplayItem>()
  const left = new Set<number>()
  /** Numbers that this replay is done with, in front of one that it is not. */
  const ended = new Set<number>()
  for await (const event of deliveriesBackwards(store, subscriptionId)) {
    if (isInFront(event, first)) break
    if (event.type !== 'DeliveriesAttempted') continue
    const { template, baseUrl } = event.data
    for (const attempt of event.data.attempts) {
      const { sequence } = attempt
      if (sequence < first || sequence > last || ended.has(sequence)) continue
      if (attempt.replayId === replayId && attempt.result !== 'failed') {
        ended.add(sequence)
        found.delete(sequence)
        continue
      }
      // The oldest attempt decides, as it did for the retries after it.
      found.set(sequence, { ...placeIn(attempt), replayId, toSequence, left, template, baseUrl })
    }
    if (found.size + ended.size === last - first + 1) break
  }
  const items = [...found.values()].toSorted((a, b) => a.sequence - b.sequence)
  for (const { sequence } of items) left.add(sequence)
  return items
}

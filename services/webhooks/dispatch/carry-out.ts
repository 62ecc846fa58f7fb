import { isServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import { sentThrough } from '../deliveries/delivery-state.ts'
import { findFailed, findReplayed } from '../deliveries/read-deliveries.ts'
import type { RequestedReplay } from '../state/subscription-state.ts'
import type { Change } from './decide-attempt.ts'
import type { DispatcherOptions } from './dispatcher-options.ts'
import type { Endpoint } from './endpoint.ts'
import type { EndpointLog } from './endpoint-log.ts'
import type { Effect, EndpointItem, Input } from './endpoint-state.ts'

/** Effects that read or write the log; the result of each is an input of the endpoint. */
export type SlowEffect = Extract<Effect, { kind: 'load' | 'drain' | 'seek' | 'say' }>

export interface CarryOutOptions extends DispatcherOptions {
  readonly endpoints: EndpointLog
  readonly journalOf: (endpoint: Endpoint) => Promise<DeliveryJournal>
}

type Replay = Extract<EndpointItem, { kind: 'replay' }>

/** @returns the input that the endpoint gets from it, if any */
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
})

async function load({ endpoints, deliveries }: CarryOutOptions, endpoint: Endpoint): Promise<Input> {
  const subscription = await endpoints.newest(endpoint.state.subscription)
  endpoint.knows(await deliveries.load(subscription))
  return { kind: 'loaded', subscription }
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
  const { replayId, fromSequence, toSequence, only } = request
  const journal = await journalOf(endpoint)
  const { open } = journal.state
  const through = sentThrough(journal.state, replayId)
  if (through >= toSequence) return []
  const first = Math.max(fromSequence, through + 1)
  const last = Math.min(toSequence, fromSequence + LIMITS.webhookReplayDeliveries - 1)
  const found =
    only === 'failed'
      ? await findFailed(store, endpoint.id, { first, last: toSequence, open, replayId })
      : await findReplayed(store, endpoint.id, { first, last, replayId })
  // Numbers that were never used, or what was taken meanwhile: without this it would be under way for ever.
  if (found.length === 0) await journal.endReplay(replayId, toSequence)
  const left = new Set(found.map(({ sequence }) => sequence))
  return found.map((one) => ({ kind: 'replay', item: { ...one, replayId, toSequence, left }, tries: 0 }))
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

/** The input of an endpoint after an effect failed. */
function failureOf(effect: SlowEffect): Input | undefined {
  if (effect.kind === 'say') return { kind: 'failed_to_say', change: effect.change }
  return effect.kind === 'seek' ? undefined : { kind: 'failed', what: effect.kind }
}

import { isServiceError } from '../../../contracts/errors.ts'
import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import { isToRecover } from '../deliveries/delivery-state.ts'
import { findExhausted } from '../deliveries/read-deliveries.ts'
import type { Allowance } from './allowance.ts'
import type { Change } from './decide-attempt.ts'
import type { DispatcherOptions } from './dispatcher-options.ts'
import type { Endpoint } from './endpoint.ts'
import type { EndpointLog } from './endpoint-log.ts'
import type { Effect, Input } from './endpoint-state.ts'

/** Effects that read or write the log; the result of each is an input of the endpoint. */
export type SlowEffect = Extract<Effect, { kind: 'load' | 'drain' | 'recover' | 'say' }>

export interface CarryOutOptions extends DispatcherOptions {
  readonly endpoints: EndpointLog
  readonly allowance: Pick<Allowance, 'knows'>
  readonly journalOf: (endpoint: Endpoint) => Promise<DeliveryJournal>
}

/** @returns the input that the endpoint gets from it */
export type CarryOut = (endpoint: Endpoint, effect: SlowEffect) => Promise<Input>

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
  ) => Promise<Input>
}

const worksOf = (options: CarryOutOptions): Works => ({
  load: (endpoint) => load(options, endpoint),
  drain: (endpoint) => drain(options, endpoint),
  recover: (endpoint) => recover(options, endpoint),
  say: (endpoint, { change }) => say(options, endpoint, change),
})

async function load(
  { endpoints, deliveries, directory, allowance }: CarryOutOptions,
  endpoint: Endpoint,
): Promise<Input> {
  const subscription = await endpoints.newest(endpoint.state.subscription)
  const known = await deliveries.load(subscription)
  endpoint.knows(known)
  const target = await directory.target(subscription)
  if (target !== undefined) endpoint.sendsTo(target)
  allowance.knows(endpoint, known.posts)
  return { kind: 'loaded', subscription }
}

async function drain({ journalOf }: CarryOutOptions, endpoint: Endpoint): Promise<Input> {
  const journal = await journalOf(endpoint)
  await journal.forgiveFailures()
  await journal.move(endpoint.state.subscription, endpoint.underWay)
  return { kind: 'drained' }
}

async function recover({ store, journalOf }: CarryOutOptions, endpoint: Endpoint): Promise<Input> {
  const journal = await journalOf(endpoint)
  const { recovery } = endpoint.state.subscription
  if (recovery === null || !isToRecover({ recovery }, journal.state))
    return { kind: 'recovery', sequences: [] }
  const { found } = await findExhausted(store, endpoint.id, { ...recovery, open: journal.state.open })
  await journal.recover(found, recovery.revision)
  return { kind: 'recovery', sequences: found.map(({ sequence }) => sequence) }
}

async function say({ endpoints }: CarryOutOptions, endpoint: Endpoint, change: Change): Promise<Input> {
  const subscription = await endpoints.say(endpoint.state.subscription, change)
  return { kind: 'said', subscription, change }
}

/** The input of an endpoint after an effect failed. */
function failureOf(effect: SlowEffect): Input {
  if (effect.kind === 'say') return { kind: 'failed_to_say', change: effect.change }
  return { kind: 'failed', what: effect.kind }
}

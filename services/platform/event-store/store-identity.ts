import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import type { RecordedEvent } from '../../../contracts/event.ts'
import {
  decodeEvent,
  type MarketKind,
  type ServiceEvent,
  StoreInitialised,
} from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { STORE_IDENTITY_STREAM } from '../../../contracts/streams.ts'
import type { EventStore } from './event-store.ts'

export interface StoreIdentity {
  readonly market: MarketKind
  /** Seed of a simulated market, null for any other. */
  readonly seed: string | null
  readonly secretFingerprint: string
}

/**
 * Makes a new store ours, or checks that it already is: one store holds one market under one secret, so that
 * no simulated verdict can stand beside a live one.
 *
 * @returns an id that tells this log apart from every other.
 * @throws ServiceError `store_mismatch`
 */
export async function claimStore(
  store: EventStore,
  identity: StoreIdentity,
  newId: () => string,
): Promise<string> {
  const existing = await readIdentity(store)
  if (existing !== undefined) return requireSame(existing, identity)
  const id = newId()
  const event = newEvent(StoreInitialised, {
    id,
    data: { ...identity },
    meta: { correlationId: id, actor: 'start' },
  })
  try {
    await store.append(STORE_IDENTITY_STREAM, [event], { expected: 'no-stream' })
    return id
  } catch (error) {
    if (!isServiceError(error, 'revision_conflict')) throw error
    // Another process was first.
    const theirs = await readIdentity(store)
    if (theirs === undefined) throw error
    return requireSame(theirs, identity)
  }
}

/** The first event of a store, which says whose it is; undefined in a new one. */
export async function readIdentity(store: EventStore): Promise<RecordedEvent | undefined> {
  for await (const event of store.read(STORE_IDENTITY_STREAM, { limit: 1 })) return event
  return undefined
}

function requireSame(recorded: RecordedEvent, identity: StoreIdentity): string {
  const event: ServiceEvent = decodeEvent(recorded)
  if (event.type !== 'StoreInitialised') throw mismatch('its first event is not one of this service')
  const { market, seed, secretFingerprint } = event.data
  if (market !== identity.market)
    throw mismatch(`it was begun with a ${market} market, not a ${identity.market} one`)
  if (seed !== identity.seed) throw mismatch(`it was begun with the seed ${seed}, not ${identity.seed}`)
  if (secretFingerprint !== identity.secretFingerprint) {
    throw mismatch('it was begun under another sealing key; set SEALING_KEY to that one')
  }
  return recorded.id
}

const mismatch = (why: string): ServiceError =>
  new ServiceError('store_mismatch', { message: `this event store cannot be used: ${why}` })

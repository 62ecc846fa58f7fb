import { ServiceError } from '../../contracts/errors/errors.ts'
import {
  decodeEventOf,
  LOG_RELEASE,
  LogBegun,
  type MarketKind,
} from '../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../contracts/events/event-definition.ts'
import { STORE_IDENTITY_STREAM, UNFINISHED_COPY_STREAM } from '../../contracts/events/streams.ts'
import type { RecordedEvent } from '../../contracts/infra/event.ts'
import { type AppendPath, appendedOr, appendWithRetry } from './append-with-retry.ts'
import type { EventStore } from './event-store.ts'

export interface StoreIdentity {
  readonly market: MarketKind
  /** Seed of a simulated market, null for any other. */
  readonly seed: string | null
  readonly secretFingerprint: string
}

/**
 * Claims a new store, or checks that it is ours: one store holds one market under one secret. @returns the id of the log
 * @throws ServiceError `store_mismatch`; `outcome_unknown`, and what the store refused it with
 */
export async function claimStore(
  path: AppendPath,
  identity: StoreIdentity,
  newId: () => string,
): Promise<string> {
  const known = await checkStore(path.store, identity)
  if (known !== undefined) return known
  const { market, seed, secretFingerprint } = identity
  const id = newId()
  const data = { release: LOG_RELEASE, market, seed, secretFingerprint }
  const event = newEvent(LogBegun, { id, data, meta: { correlationId: id, actor: 'start' } })
  const append = { stream: STORE_IDENTITY_STREAM, events: [event], expected: 'no-stream' } as const
  const appended = appendedOr(await appendWithRetry(path, append), {
    what: 'this log is of this service',
    again: 'Start again.',
  })
  if (appended !== undefined) return id
  // Another process was first.
  const theirs = await checkStore(path.store, identity)
  if (theirs !== undefined) return theirs
  throw new ServiceError('store_unavailable', {
    message: 'The first event of the log is taken and cannot be read yet.',
  })
}

/**
 * Whether a store is ours, without writing to it. @returns the id of its log; undefined for a new one @throws
 * ServiceError `store_mismatch`
 */
export async function checkStore(
  store: Pick<EventStore, 'read'>,
  identity: StoreIdentity,
): Promise<string | undefined> {
  const first = await readIdentity(store)
  if (first === undefined) return undefined
  await requireFinished(store)
  return requireSame(first, identity)
}

/** The first event of a store, which says whose it is; undefined in a new one. */
export async function readIdentity(store: Pick<EventStore, 'read'>): Promise<RecordedEvent | undefined> {
  for await (const event of store.read(STORE_IDENTITY_STREAM, { limit: 1 })) return event
  return undefined
}

/** The seed that a store's simulated market is drawn from; undefined where its first event says none. */
export async function seedOfStore(store: Pick<EventStore, 'read'>): Promise<string | undefined> {
  const first = await readIdentity(store)
  return (first && decodeEventOf(first, 'LogBegun').data.seed) ?? undefined
}

/** @throws ServiceError `store_mismatch` for a log that another one is being copied into */
async function requireFinished(store: Pick<EventStore, 'read'>): Promise<void> {
  for await (const { at } of store.read(UNFINISHED_COPY_STREAM, { limit: 1 })) {
    throw new ServiceError('store_mismatch', {
      message: `this event store cannot be used: a copy of another log into it, begun at ${at}, is not finished`,
      nextStep: 'Run `signal store copy` again with the same addresses: it goes on where it was.',
    })
  }
}

function requireSame(recorded: RecordedEvent, identity: StoreIdentity): string {
  if (recorded.type !== 'LogBegun') throw otherReleaseError(recorded)
  const event = decodeEventOf(recorded, 'LogBegun')
  const { release, market, seed, secretFingerprint } = event.data
  if (release !== LOG_RELEASE) throw otherReleaseError(recorded, release)
  if (market !== identity.market)
    throw mismatchError(`it was begun with a ${market} market, not a ${identity.market} one`)
  if (seed !== identity.seed) throw mismatchError(`it was begun with the seed ${seed}, not ${identity.seed}`)
  if (secretFingerprint !== identity.secretFingerprint) {
    throw mismatchError('it was begun under another sealing key; set SEALING_KEY to that one')
  }
  return recorded.id
}

const mismatchError = (why: string): ServiceError =>
  new ServiceError('store_mismatch', { message: `this event store cannot be used: ${why}` })

function otherReleaseError({ type }: RecordedEvent, release = `with a first event ${type}`): ServiceError {
  const isFormer = type === 'StoreInitialised'
  return new ServiceError('store_mismatch', {
    message: `the log is of release ${isFormer ? '0.2 or older' : release}, and this release reads logs of ${LOG_RELEASE}; nothing was changed`,
    nextStep: isFormer
      ? 'Release 0.2 reads it. Start this release over a new one: another folder (DATA_DIR), or another database.'
      : 'Start the release that wrote it, or begin a new log.',
  })
}

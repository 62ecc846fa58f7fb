import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { RETRY_FOR_CALLER } from '../../log/append-with-retry.ts'
import { logFile, openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { requireNoneLost } from '../../log/embedded/log-end.ts'
import type { EventStore } from '../../log/event-store.ts'
import { claimStore, type StoreIdentity } from '../../log/store-identity.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Bus } from '../../runtime/bus/bus.ts'
import { createInProcessBus } from '../../runtime/bus/in-process-bus.ts'
import type { Cache } from '../../runtime/cache/cache.ts'
import { createMemoryCache } from '../../runtime/cache/memory-cache.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import { createRandomPool } from '../../runtime/ids/random-pool.ts'
import { uuidV7 } from '../../runtime/ids/uuid.ts'
import { factSecretOf, requireKeyOfLog, secretFor, secretsFor } from '../../runtime/secrets/market-keys.ts'
import { keyFingerprint } from '../../runtime/secrets/seal.ts'
import { exposedIn, makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import type { Start } from '../shutdown.ts'
import { adapterHealth } from './adapter-health.ts'

/** The store, bus and cache of a process, opened, with its ids and secrets. */
export type Platform = Awaited<ReturnType<typeof openPlatform>>

/**
 * Opens store, bus and cache as the settings say.
 *
 * @param appended called after each append
 * @throws ServiceError `store_locked`, `store_mismatch`, `store_unavailable`, `dependency_unavailable`,
 * `config_invalid`
 */
export async function openPlatform(start: Start, appended: AppendDone = () => undefined) {
  const { settings, shutdown } = start
  const directory = join(settings.DATA_DIR, settings.MARKET)
  createFolder(directory)
  if (settings.EVENTSTORE_URL === undefined) requireNoneLost(logFile(directory))
  requireKeyOfLog(settings, directory)
  const draw = createRandomPool(randomBytes)
  const newId = (): string => uuidV7(Date.now(), draw(10))
  const factSecret = factSecretOf(settings, directory)
  const mismatch = Promise.withResolvers<never>()
  mismatch.promise.catch(() => undefined)
  const { store: opened, logId } = await openLog(start, directory, newId, mismatch.reject)
  const store = timeAppends(opened, appended)
  const bus = await openBus(start, logId)
  shutdown.onClose(() => bus.close())
  const cache = await openCache(start, logId)
  shutdown.onClose(() => cache.close())
  const idOf = createFactIds(factSecret)
  return {
    store,
    /** The parts that most roles are made of. */
    basics: { store, idOf, newId, sleep, now: Date.now, random: (bytes: number) => randomBytes(bytes) },
    /** Rejects with `store_mismatch` when another log answers where this process' one did; never resolves. */
    storeFailure: mismatch.promise,
    bus,
    cache,
    directory,
    logId,
    newId,
    /** An id of this process, new at each start. */
    processId: newId(),
    idOf,
    /** A key of 32 bytes for a purpose; the same as long as the sealing key is. */
    deriveSecret: (purpose: string): Uint8Array => secretFor(settings, directory, purpose),
    /** Keys that replace the sealing key for a purpose, oldest first; the first is what `deriveSecret` gives. */
    deriveSecrets: (purpose: string) => secretsFor(settings, directory, purpose),
    /** The place of each part, for people; without credentials. */
    summary: [
      settings.EVENTSTORE_URL === undefined ? `embedded store in ${directory}` : 'event store server',
      settings.NATS_URL === undefined ? 'in-process bus' : 'NATS',
      settings.REDIS_URL === undefined ? 'memory cache' : 'Redis cache',
    ],
    health: () => adapterHealth({ store, bus, cache }),
  }
}

/** Opens the store and claims it. One that is shared may be exchanged while this process runs. */
async function openLog(
  start: Start,
  directory: string,
  newId: () => string,
  onMismatch: (error: ServiceError) => void,
) {
  const { settings, log, shutdown } = start
  const store = await openStore(start, directory, onMismatch)
  const exposed = exposedIn(directory)
  if (exposed.length > 0)
    log.warn(
      { exposed: exposed.slice(0, MOST_NAMED), count: exposed.length },
      `other users of this machine can read the store; give its files to the user of this process, or run \`chmod -R go= \`${directory}`,
    )
  shutdown.onClose(() => store.close())
  // Until the start is over, a signal to stop ends the process itself.
  const { signal } = new AbortController()
  const path = { store, policy: RETRY_FOR_CALLER, now: Date.now, sleep, signal }
  const identity = identityOf(settings, factSecretOf(settings, directory))
  return { store, logId: await awaitStore(() => claimStore(path, identity, newId), start) }
}

/** The identity that a store must have, to be used with these settings. */
export const identityOf = ({ MARKET, MARKET_SEED }: Settings, factSecret: Uint8Array): StoreIdentity => ({
  market: MARKET,
  seed: MARKET === 'simulated' ? MARKET_SEED : null,
  secretFingerprint: keyFingerprint(factSecret),
})

function createFolder(directory: string): void {
  try {
    makePrivateFolder(directory)
  } catch (error) {
    if (isServiceError(error)) throw error
    const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC'
    throw new ServiceError(isFull ? 'store_full' : 'config_invalid', {
      message: `DATA_DIR (--data-dir) cannot hold ${directory}: ${reasonOf(error)}`,
      cause: error,
    })
  }
}

/** Files that a warning names, at most. */
const MOST_NAMED = 8

async function openStore(
  { settings, log }: Start,
  directory: string,
  onMismatch: (error: ServiceError) => void,
): Promise<EventStore> {
  if (settings.EVENTSTORE_URL === undefined) {
    const position = settings.ACCEPT_LOST_END
    const acceptLostEnd =
      position === undefined ? undefined : { position, id: uuidV7(Date.now(), randomBytes(10)) }
    return openEmbeddedStore({ directory, now: Date.now, acceptLostEnd })
  }
  // Libraries of servers are loaded where such a server is.
  const { openEventStoreDbStore } = await import('../../log/eventstoredb/eventstoredb-store.ts')
  return openEventStoreDbStore({
    connectionString: settings.EVENTSTORE_URL,
    onMismatch,
    onSubscriptionBreak(error, resumeInMs) {
      if (resumeInMs === 0) return
      log.warn({ err: error, resumeInMs }, 'subscription interrupted')
    },
    onForeignEvent(place) {
      log.warn(place, 'the log holds an event that something else wrote; such events are left out')
    },
  })
}

async function openBus({ settings, log }: Start, logId: string): Promise<Bus> {
  const report = (fault: Error): void => log.warn({ err: fault }, 'bus')
  if (settings.NATS_URL === undefined) return createInProcessBus({ report })
  const { openNatsBus } = await import('../../runtime/bus/nats-bus.ts')
  return openNatsBus({ url: settings.NATS_URL, logId, now: Date.now, random: Math.random, report })
}

async function openCache({ settings, log }: Start, logId: string): Promise<Cache> {
  if (settings.REDIS_URL === undefined) return createMemoryCache({ now: Date.now })
  const { openRedisCache } = await import('../../runtime/cache/redis-cache.ts')
  const report = (fault: Error): void => log.warn({ err: fault }, 'cache')
  return openRedisCache({ url: settings.REDIS_URL, logId, report, random: Math.random })
}

/** How often a store that is unavailable is asked again, and how often that is logged. */
const RETRY_MS = 500
const LOG_EVERY_MS = 10_000

/**
 * Asks a store until it answers: in containers a service often starts before its store, or while a cluster elects.
 * @throws ServiceError `store_unavailable` once STORE_WAIT is over; any other refusal at once
 */
export async function awaitStore<Answer>(
  ask: () => Promise<Answer>,
  { settings, log }: Pick<Start, 'settings' | 'log'>,
  time: Pick<Clock, 'elapsed' | 'sleep'> = { elapsed: () => performance.now(), sleep },
): Promise<Answer> {
  const waitsForMs = settings.STORE_WAIT * 1_000
  const began = time.elapsed()
  for (let loggedAt = Number.NEGATIVE_INFINITY; ; ) {
    try {
      return await ask()
    } catch (error) {
      if (!isServiceError(error, 'store_unavailable') && !isServiceError(error, 'outcome_unknown'))
        throw error
      const waitedMs = Math.round(time.elapsed() - began)
      if (waitedMs >= waitsForMs)
        throw new ServiceError('store_unavailable', {
          message: `The event store was not there within ${settings.STORE_WAIT} s: ${error.message}`,
          nextStep:
            'Start the server of the event store, or correct EVENTSTORE_URL; STORE_WAIT says for how many seconds a start waits.',
          cause: error,
        })
      if (waitedMs - loggedAt >= LOG_EVERY_MS) {
        loggedAt = waitedMs
        log.warn({ reason: reasonOf(error), waitedMs, waitsForMs }, 'waiting for the event store')
      }
      // A signal to stop ends the process while nothing is opened.
      await time.sleep(Math.min(RETRY_MS, waitsForMs - waitedMs), new AbortController().signal)
    }
  }
}

/** Told of each append. */
export type AppendDone = (append: {
  readonly durationS: number
  /** Code of the error; undefined where it was appended. */
  readonly error: string | undefined
}) => void

/** The store, with the duration of each append told. */
export function timeAppends(store: EventStore, done: AppendDone): EventStore {
  const append: EventStore['append'] = async (...asked) => {
    const startedAt = performance.now()
    let error: string | undefined
    try {
      return await store.append(...asked)
    } catch (fault) {
      error = isServiceError(fault) ? fault.code : 'internal_error'
      throw fault
    } finally {
      done({ durationS: (performance.now() - startedAt) / 1_000, error })
    }
  }
  return { ...store, append }
}

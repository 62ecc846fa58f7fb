import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { type AppendPath, RETRY_FOR_CALLER } from '../../log/append-with-retry.ts'
import { logFile, openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { requireNoneLost } from '../../log/embedded/log-end.ts'
import type { EventStore } from '../../log/event-store.ts'
import { claimStore, type StoreIdentity } from '../../log/store-identity.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Bus } from '../../runtime/bus/bus.ts'
import { createInProcessBus } from '../../runtime/bus/in-process-bus.ts'
import type { Cache } from '../../runtime/cache/cache.ts'
import { createMemoryCache } from '../../runtime/cache/memory-cache.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import { createRandomPool } from '../../runtime/ids/random-pool.ts'
import { uuidV7 } from '../../runtime/ids/uuid.ts'
import { keyFingerprint } from '../../runtime/secrets/seal.ts'
import { deriveKey, loadSealingKey } from '../../runtime/secrets/sealing-key.ts'
import { loadWrappingKeys, WRAPPING_KEYS_FILE } from '../../runtime/secrets/wrapping-keys.ts'
import { exposedIn, makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import type { Lifetime } from '../lifetime.ts'
import { awaitStore, type StoreWait } from './await-store.ts'

/** The store, bus and cache of a process, opened, with its ids and secrets. */
export type Platform = Awaited<ReturnType<typeof openPlatform>>

/**
 * Opens store, bus and cache as the settings say.
 *
 * @throws ServiceError `store_locked`, `store_mismatch`, `store_unavailable`, `bus_unavailable`,
 * `cache_unavailable`, `config_invalid`
 */
export async function openPlatform(life: Lifetime) {
  const { settings, log, onClose } = life
  const directory = join(settings.DATA_DIR, settings.MARKET)
  createFolder(directory)
  if (settings.EVENTSTORE_URL === undefined) requireNoneLost(logFile(directory))
  requireKeyOfLog(settings, directory)

  const draw = createRandomPool(randomBytes)
  const newId = (): string => uuidV7(Date.now(), draw(10))
  const factSecret = factSecretOf(settings, directory)

  const mismatch = Promise.withResolvers<never>()
  mismatch.promise.catch(() => undefined)
  const store = await openStore(life, directory, mismatch.reject)
  warnOfExposed(directory, log)
  onClose(() => store.close())
  const identity = identityOf(settings, factSecret)
  const claim = () => claimStore(startingPath(store), identity, newId)
  const logId = await awaitStore(claim, storeWait(life))

  const bus = await openBus(life, logId)
  onClose(() => bus.close())
  const cache = await openCache(life, logId)
  onClose(() => cache.close())

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
  }
}

/**
 * A log without its key is one that was restored in part: a new key could not open it.
 *
 * @throws ServiceError `store_mismatch`, before anything is written
 */
export function requireKeyOfLog(settings: KeySettings, directory: string): void {
  if (hasSealingKey(settings, directory) || !existsSync(join(directory, 'events.db'))) return
  throw new ServiceError('store_mismatch', {
    message: `${directory} holds a log, and the key file that it was begun under is missing: copy it to ${join(directory, 'sealing.key')} from where you keep it, or set SEALING_KEY to what it holds`,
  })
}

/** The secret behind the ids of facts; its sealing key is made in the folder where there is none yet. */
export const factSecretOf = (
  settings: Pick<Settings, 'SEALING_KEY' | 'MARKET'>,
  directory: string,
): Uint8Array => secretFor(settings, directory, 'fact-ids')

/** Keys of different purposes and markets tell nothing of one another. */
function secretFor(
  { SEALING_KEY, MARKET }: Pick<Settings, 'SEALING_KEY' | 'MARKET'>,
  directory: string,
  purpose: string,
): Uint8Array {
  const sealingKey = loadSealingKey({ given: SEALING_KEY, directory, random: randomBytes })
  return deriveKey(sealingKey, `${purpose} of a ${MARKET} market`)
}

/**
 * The key that signs backups: of the newest sealing key. It makes none.
 *
 * @throws ServiceError `config_invalid` where the sealing key is not here
 */
export function backupKeyOf(settings: KeySettings, directory: string): Uint8Array {
  requireKeyOfLog(settings, directory)
  if (!hasSealingKey(settings, directory))
    throw new ServiceError('config_invalid', {
      message: `the sealing key is not here, and without it nobody can tell who wrote a backup: put it at ${join(directory, 'sealing.key')}, or set SEALING_KEY`,
    })
  const { known, used } = secretsFor(settings, directory, 'backups')
  return known[used] as Uint8Array
}

const hasSealingKey = ({ SEALING_KEY }: KeySettings, directory: string): boolean =>
  SEALING_KEY !== undefined || existsSync(join(directory, 'sealing.key'))

type KeySettings = Pick<Settings, 'SEALING_KEY' | 'MARKET'> & Partial<Pick<Settings, 'WRAPPING_KEYS'>>

/** Keys for a purpose: from the sealing key, and from the keys that replaced it. */
function secretsFor(settings: KeySettings, directory: string, purpose: string) {
  const file = join(directory, WRAPPING_KEYS_FILE)
  const { keys, used } = loadWrappingKeys({ given: settings.WRAPPING_KEYS, file })
  const later = keys.map((key) => deriveKey(key, `${purpose} of a ${settings.MARKET} market`))
  return { known: [secretFor(settings, directory, purpose), ...later], used }
}

/** The fingerprint that a log says it was begun under; undefined where the sealing key is not at hand. */
export const keyFingerprintOf = (settings: KeySettings, directory: string): string | undefined =>
  hasSealingKey(settings, directory) ? keyFingerprint(factSecretOf(settings, directory)) : undefined

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
    const reason = reasonOf(error)
    const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC'
    throw new ServiceError(isFull ? 'store_full' : 'config_invalid', {
      message: `DATA_DIR (--data-dir) cannot hold ${directory}: ${reason}`,
      cause: error,
    })
  }
}

/** Files that this process cannot protect belong to another user, so the operator has to. */
function warnOfExposed(directory: string, log: Logger): void {
  const exposed = exposedIn(directory)
  if (exposed.length === 0) return
  const advice =
    'other users of this machine can read the store; give its files to the user of this process, or run `chmod -R go= `'
  log.warn({ exposed: exposed.slice(0, MOST_NAMED), count: exposed.length }, `${advice}${directory}`)
}

const MOST_NAMED = 8

async function openStore(
  { settings, log }: Lifetime,
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

/** Appends the first events of a log. Until the start is over, a signal to stop ends the process itself. */
const startingPath = (store: EventStore): AppendPath => ({
  store,
  policy: RETRY_FOR_CALLER,
  now: Date.now,
  sleep,
  signal: new AbortController().signal,
})

export const storeWait = ({ settings: { STORE_WAIT }, log }: Lifetime): StoreWait => ({
  waitMs: STORE_WAIT * 1_000,
  elapsed: () => performance.now(),
  // A signal to stop ends the process while nothing is opened.
  sleep: (milliseconds) => sleep(milliseconds, new AbortController().signal),
  say: (reason, waitedMs) =>
    log.warn(
      { reason, waitedMs: Math.round(waitedMs), waitsForMs: STORE_WAIT * 1_000 },
      'waiting for the event store',
    ),
})

async function openBus({ settings, log }: Lifetime, logId: string): Promise<Bus> {
  const report = (fault: Error): void => log.warn({ err: fault }, 'bus')
  if (settings.NATS_URL === undefined) return createInProcessBus({ report })
  const { openNatsBus } = await import('../../runtime/bus/nats-bus.ts')
  return openNatsBus({ url: settings.NATS_URL, logId, now: Date.now, random: Math.random, report })
}

async function openCache({ settings, log }: Lifetime, logId: string): Promise<Cache> {
  if (settings.REDIS_URL === undefined) return createMemoryCache({ now: Date.now })
  const { openRedisCache } = await import('../../runtime/cache/redis-cache.ts')
  return openRedisCache({
    url: settings.REDIS_URL,
    logId,
    report: (fault: Error): void => log.warn({ err: fault }, 'cache'),
    random: Math.random,
  })
}

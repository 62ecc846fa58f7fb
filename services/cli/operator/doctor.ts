import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants, existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { requirePaymentChain } from '../../../contracts/chain.ts'
import {
  ERRORS,
  type ErrorDefinition,
  isServiceError,
  reasonOf,
  ServiceError,
} from '../../../contracts/errors.ts'
import { START } from '../../../contracts/position.ts'
import { STORE_IDENTITY_STREAM } from '../../../contracts/streams.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import { identityOf } from '../../composition/adapters/open-platform.ts'
import { findOwnerSocket } from '../../composition/adapters/owner-socket.ts'
import { newestBackup } from '../../log/backup/newest-backup.ts'
import { checkLog } from '../../log/embedded/check-log.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { freeBytes } from '../../log/embedded/free-bytes.ts'
import { openStoredRows } from '../../log/embedded/stored-rows.ts'
import type { EventStore } from '../../log/event-store.ts'
import { openEventStoreDbStore } from '../../log/eventstoredb/eventstoredb-store.ts'
import { checkStore } from '../../log/store-identity.ts'
import { SETTING_DEFINITIONS, settingsOf } from '../../runtime/config/read-settings.ts'
import { SETTINGS, type Settings } from '../../runtime/config/settings.ts'
import { factSecretOf, requireKeyOfLog } from '../../runtime/secrets/market-keys.ts'
import { type CommandInput, defineCommand } from '../kit/command.ts'
import { switchFlag } from '../kit/common-flags.ts'
import { SERVICE_FLAGS } from '../kit/find-service.ts'
import { askForState, Service, type ServiceAddress, type ServiceState } from '../kit/service.ts'
import {
  CONNECT_MS,
  type Description,
  describeChain,
  describeClock,
  describeWebhooks,
} from './doctor-checks.ts'

interface Finding {
  readonly part: string
  readonly ok: boolean
  /** It works, and a part of it is late or not there. */
  readonly isDegraded?: boolean
  readonly detail: string
  /** The next step and the exit code of a fault. */
  readonly error?: ServiceError
}

/** The settings that decide where the service keeps things and what it needs to reach. */
const SETTING_FLAGS = Object.fromEntries(
  Object.entries(SETTING_DEFINITIONS).filter(([flag]) => flag !== SETTINGS.EXIT_AT_END.flag),
)

const FLAGS = {
  server: SERVICE_FLAGS.server,
  log: switchFlag(
    'Reads the whole log of the embedded store as well, beside its service: every checksum, and the check that SQLite makes of its pages and indexes.',
  ),
  json: switchFlag('Writes the findings as JSON.'),
} as const

export const doctorCommand = defineCommand({
  name: 'doctor',
  summary:
    'Checks the runtime, the settings, the store and the servers of the service, and reports what is wrong.',
  notes: [
    'It checks the runtime, the settings, the data folder, the store, its keys, backup and checkpoint, the clock, the configured servers, the chain and the webhooks. Of the store it checks market and key, and whether another process has it open; in EventStoreDB also the log, and the rights to read and append. It changes nothing. Each is `ok`, `weak` (it works, and a part of it is late or not there) or a `fault`; the exit code is that of the first fault.',
    'It takes the flags and variables of the service itself, listed in [settings.md](settings.md).',
  ],
  flags: { ...FLAGS, ...SETTING_FLAGS },
  examples: [
    'signal doctor',
    'signal doctor --log',
    'signal doctor --market recorded --data ./binance-usdm --json',
  ],
  async run(input) {
    const findings = await examine(input)
    const { stdout } = input
    if (input.flags.json) stdout.write(`${JSON.stringify(findings.map(jsonOf))}\n`)
    else stdout.write(`${findings.flatMap(linesOf).join('\n')}\n`)
    const fault = findings.find(({ ok }) => !ok)
    const definition: ErrorDefinition = ERRORS[fault?.error?.code ?? 'internal_error']
    return fault === undefined ? 0 : (definition.exitCode ?? 1)
  },
})

const markOf = ({ ok, isDegraded }: Finding): string =>
  !ok ? 'fault' : isDegraded === true ? 'weak ' : 'ok   '

const linesOf = (finding: Finding): string[] => [
  `${markOf(finding)}  ${finding.part.padEnd(12)}  ${finding.detail}`,
  ...(finding.error === undefined ? [] : [`${' '.repeat(21)}${finding.error.nextStep}`]),
]

const jsonOf = ({ part, ok, isDegraded = false, detail, error }: Finding) => ({
  part,
  ok,
  degraded: isDegraded,
  detail,
  ...(error && { code: error.code, next_step: error.nextStep }),
})

async function examine({ flags, now, signal }: CommandInput<typeof FLAGS>): Promise<Finding[]> {
  const findings = [await look('runtime', async () => `Node.js ${process.versions.node}`)]
  let settings: Settings | undefined
  const ofSettings = await look('settings', async () => {
    settings = settingsOf(flags)
    return `${settings.MARKET} market, roles ${settings.ROLES.join(', ')}`
  })
  findings.push(ofSettings)
  if (settings === undefined) return findings
  const { EVENTSTORE_URL, NATS_URL, REDIS_URL, DATA_DIR } = settings
  const directory = join(DATA_DIR, settings.MARKET)
  findings.push(await look('data folder', async () => describeFolder(directory)))
  const known = settings
  findings.push(await look('store', () => describeStore(known, directory)))
  if (existsSync(join(directory, 'events.db'))) {
    findings.push(await look('keys', async () => describeKeys(known, directory)))
    findings.push(await look('clock', async () => describeClock(directory, now())))
    findings.push(await look('backup', async () => describeBackup(directory, now())))
    findings.push(await look('checkpoint', async () => describeCheckpoint(known, directory)))
  }
  const socketPath = await findOwnerSocket(directory)
  if (socketPath !== undefined)
    findings.push(
      await look('webhooks', () =>
        describeWebhooks(new Service({ url: 'http://localhost', socketPath }, signal)),
      ),
    )
  const { X402_RPC_URL, X402_NETWORK, X402_ASSET } = settings
  if (X402_RPC_URL !== undefined)
    findings.push(
      await look('chain', () => describeChain(X402_RPC_URL, requirePaymentChain(X402_NETWORK, X402_ASSET))),
    )
  if (flags.log) findings.push(await look('log', async () => describeLog(known, directory)))
  if (EVENTSTORE_URL !== undefined)
    findings.push(await look('event store', () => describeEventStoreDb(known, directory, EVENTSTORE_URL)))
  if (NATS_URL !== undefined)
    findings.push(await look('NATS', () => describePort(NATS_URL, 4222, 'bus_unavailable')))
  if (REDIS_URL !== undefined)
    findings.push(await look('Redis', () => describePort(REDIS_URL, 6379, 'cache_unavailable')))
  const { server } = flags
  if (server !== undefined) findings.push(await look('server', () => describeService({ url: server })))
  return findings
}

async function look(part: string, describe: () => Promise<Description>): Promise<Finding> {
  try {
    const found = await describe()
    return { part, ok: true, ...(typeof found === 'string' ? { detail: found } : found) }
  } catch (error) {
    const known =
      error instanceof ServiceError
        ? error
        : new ServiceError('internal_error', { message: reasonOf(error), cause: error })
    return { part, ok: false, detail: known.message, error: known }
  }
}

/** Below this, the log may not grow for long. */
const LITTLE_SPACE_BYTES = 100_000_000

function describeFolder(directory: string): string {
  let existing = resolve(directory)
  while (!existsSync(existing)) existing = resolve(existing, '..')
  try {
    accessSync(existing, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (cause) {
    throw new ServiceError('config_invalid', {
      message: `DATA_DIR (--data-dir): ${existing} cannot be written: ${reasonOf(cause)}`,
      cause,
    })
  }
  const bytes = freeBytes(existing)
  const free = `${Math.floor(bytes / 1_000_000).toLocaleString('en')} MB free`
  if (bytes < LITTLE_SPACE_BYTES) {
    throw new ServiceError('store_full', { message: `the disk of ${directory} has ${free}` })
  }
  return existing === resolve(directory)
    ? `${directory}, ${free}`
    : `${directory} is made on the first start, ${free}`
}

async function describeStore(settings: Settings, directory: string): Promise<Description> {
  const socketPath = await findOwnerSocket(directory)
  if (socketPath !== undefined) {
    const { isDegraded, detail } = await describeService({ url: 'http://localhost', socketPath })
    return { isDegraded, detail: `a service runs on it: ${detail}` }
  }
  if (!existsSync(join(directory, 'events.db'))) {
    return settings.EVENTSTORE_URL === undefined
      ? 'none yet; begun on the first start'
      : 'EventStoreDB keeps the log'
  }
  requireKeyOfLog(settings, directory)
  const store = await openEmbeddedStore({ directory, now: Date.now })
  try {
    const head = await store.head()
    if (head === START) return 'empty'
    const logId = await checkStore(store, identityOf(settings, factSecretOf(settings, directory)))
    if (logId === undefined) throw saysNothing()
    return `of this market and key, newest position ${head}, not open elsewhere`
  } finally {
    await store.close()
  }
}

function describeKeys(settings: Settings, directory: string): string {
  requireKeyOfLog(settings, directory)
  return 'the sealing key that the log was begun under is there'
}

/** By the note that `signal backup` leaves beside the log. */
function describeBackup(directory: string, now: number): Description {
  const rows = openStoredRows(join(directory, 'events.db'))
  const newest = newestBackup(directory, rows.find(STORE_IDENTITY_STREAM, 0)?.[5])
  rows.close()
  if (newest === undefined) return { isDegraded: true, detail: 'none of this log is noted here' }
  const hours = Math.floor((now - Date.parse(newest.takenAt)) / HOUR_MS)
  return {
    isDegraded: hours >= OLD_BACKUP_HOURS,
    detail: `the newest is ${hours} hours old and goes to position ${newest.position}`,
  }
}

/** Backups are for every few minutes; one of yesterday means that they stopped. */
const OLD_BACKUP_HOURS = 24

function describeCheckpoint({ LOG_NEWEST }: Settings, directory: string): string {
  const file = LOG_NEWEST ?? join(directory, 'newest-checkpoint')
  return existsSync(file)
    ? `kept in ${file}`
    : `none is kept in ${file}: none was signed yet, or it was removed`
}

/** In a process of its own, so that it may take long. */
function describeLog({ EVENTSTORE_URL }: Settings, directory: string): string {
  if (EVENTSTORE_URL !== undefined)
    throw new ServiceError('config_invalid', {
      message: '--log reads the file of the embedded store, and EVENTSTORE_URL names another one',
      nextStep: 'Leave --log out; EventStoreDB checks its own files (docs/eventstoredb.md).',
    })
  const file = join(directory, 'events.db')
  if (!existsSync(file)) return 'none yet'
  return `${checkLog(file).toLocaleString('en')} events, each as it was written`
}

/** Checks that the log is of this service, and that the user of the connection may read and append; appends nothing. */
async function describeEventStoreDb(
  settings: Settings,
  directory: string,
  connectionString: string,
): Promise<Description> {
  const store = openEventStoreDbStore({ connectionString })
  try {
    const head = await store.head()
    const logId = await checkStore(store, identityOf(settings, factSecretOf(settings, directory)))
    await requireAppendRight(store)
    if (logId !== undefined) return `of this market and key, newest position ${head}, read and appended to`
    if (head !== START) throw saysNothing()
    return 'empty, read and appended to; begun on the first start'
  } finally {
    await store.close()
  }
}

const saysNothing = (): ServiceError =>
  new ServiceError('store_mismatch', { message: 'the store does not say whose it is' })

/** A revision that no stream reaches: the server checks the right to append, then refuses the append for its revision. */
const NEVER_REACHED = 2_000_000_000

/** @throws ServiceError `store_denied`, and what else keeps the server from checking an append */
async function requireAppendRight(store: EventStore): Promise<void> {
  const id = randomUUID()
  const meta = { correlationId: id, actor: 'doctor' }
  const event = { id, type: 'NeverAppended', schema: 1, data: {}, meta }
  try {
    await store.append(STORE_IDENTITY_STREAM, [event], { expected: NEVER_REACHED })
  } catch (error) {
    if (!isServiceError(error, 'revision_conflict')) throw error
  }
}

const describeService = async (address: ServiceAddress) => describeState(await askForState(address))

/** The state of a service. @throws ServiceError for one that is not ready */
function describeState({ status, components }: ServiceState) {
  const problem = components.filter(({ state }) => state !== 'ok')
  if (status !== 'unready') {
    const sentences = problem.map(({ name, detail }) => `${name}: ${detail}`)
    return { isDegraded: status !== 'ready', detail: [status, ...sentences].join('; ') }
  }
  throw new ServiceError('store_unavailable', {
    message: problem.map(({ name, state, detail }) => `${name} ${state}: ${detail}`).join('; '),
  })
}

/** Checks that a server listens; only a start checks which server it is, and the password. */
async function describePort(
  url: string,
  defaultPort: number,
  code: 'bus_unavailable' | 'cache_unavailable',
): Promise<string> {
  const { hostname, port } = new URL(url)
  const address = `${hostname}:${port === '' ? defaultPort : port}`
  const socket = connect({ host: hostname, port: port === '' ? defaultPort : Number(port) })
  socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error(`no answer within ${CONNECT_MS} ms`)))
  try {
    await once(socket, 'connect')
    return `${address} accepts connections`
  } catch (error) {
    throw new ServiceError(code, { message: `${address}: ${reasonOf(error)}`, cause: error })
  } finally {
    socket.destroy()
  }
}

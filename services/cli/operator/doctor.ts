import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { operatorSubscriptionsSchema } from '../../../contracts/answers/webhook.ts'
import { requirePaymentChain } from '../../../contracts/domain/chain.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { ERRORS, isServiceError, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { STORE_IDENTITY_STREAM } from '../../../contracts/events/streams.ts'
import { START } from '../../../contracts/infra/position.ts'
import { identityOf } from '../../composition/adapters/open-platform.ts'
import { findOwnerSocket } from '../../composition/adapters/owner-socket.ts'
import { newestBackup } from '../../log/backup/read-backup.ts'
import { checkLog } from '../../log/embedded/check-log.ts'
import { logFile, openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { openStoredRows } from '../../log/embedded/stored-rows.ts'
import type { EventStore } from '../../log/event-store.ts'
import { openEventStoreDbStore } from '../../log/eventstoredb/eventstoredb-store.ts'
import { checkStore } from '../../log/store-identity.ts'
import { openChain } from '../../payments/index.ts'
import { SETTING_DEFINITIONS, settingsOf } from '../../runtime/config/read-settings.ts'
import { SETTINGS, type Settings } from '../../runtime/config/settings.ts'
import { factSecretOf, requireKeyOfLog } from '../../runtime/secrets/market-keys.ts'
import { type Command, type CommandInput, defineCommand, flagsAgain, switchFlag } from '../kit/command.ts'
import { grouped } from '../kit/output.ts'
import { openService, type ServiceState } from '../kit/service.ts'

/** How far this clock may be behind the newest event, which was dated by it. */
const CLOCK_GRACE_MS = 5_000
/** Backups are for every few minutes; one of yesterday means that they stopped. */
const OLD_BACKUP_HOURS = 24
/** How long a server may take to answer. */
const CONNECT_MS = 3_000
/** A revision that no stream reaches: a store checks the right to append, then refuses the append for its revision. */
const NEVER_REACHED = 2_000_000_000

/** A text for a part that works, or why it is weak: it works, and a part of it is late or not there. */
type Found = string | { readonly weak: string }

interface Check {
  readonly name: string
  /** The command or the setting that mends it. */
  readonly nextStep: string
  /** @throws ServiceError for a fault */
  readonly check: () => Promise<Found> | Found
}

const part = (name: string, nextStep: string, check: Check['check']): Check => ({ name, nextStep, check })

const STORE_STEP =
  'Stop what has it open (systemctl stop signal), correct the market, the key or EVENTSTORE_URL, or give its user the rights: npm run store:rights. A damaged log: signal restore ADDRESS --data-dir ./restored'
const LOG_STEP = 'signal restore ADDRESS --data-dir ./restored (docs/backup.md)'
const CHAIN_STEP =
  'Set X402_RPC_URL to a node of the chain that X402_NETWORK names, and X402_FACILITATOR_URL.'
const CHECKPOINT_STEP = 'After a restore, copy it back; without it, nothing is signed (docs/proof.md).'
const SETTINGS_STEP = 'Correct the setting that is named; docs/settings.md lists them all.'

const FLAGS = {
  log: switchFlag(
    'Reads the whole log of the embedded store as well, beside its service: every checksum, and the check that SQLite makes of its pages and indexes.',
  ),
  json: switchFlag('Writes the findings as JSON.'),
} as const

/** The settings of the service, which decide where it keeps things and what it has to reach. */
const SETTING_FLAGS = Object.fromEntries(
  Object.entries(SETTING_DEFINITIONS).filter(([flag]) => flag !== SETTINGS.EXIT_AT_END.flag),
)

const doctorCommand = defineCommand({
  name: 'doctor',
  summary: 'Checks what breaks an installation, and names the command that mends it.',
  notes: [
    'It checks the settings, the store, its keys, backup and checkpoint, the clock, the configured servers, the chain and the webhooks. Over EventStoreDB it also checks the rights to read and append. It changes nothing. Each part is `ok`, `weak` (it works, and a part of it is late or not there) or a `fault`; the exit code is that of the first fault.',
    'It takes the flags and variables of the service itself, listed in [settings.md](settings.md).',
  ],
  flags: { ...FLAGS, ...SETTING_FLAGS },
  examples: [
    'signal doctor',
    'signal doctor --log',
    'signal doctor --market recorded --data ./binance-usdm --json',
  ],
  async run(input) {
    const { flags, stdout } = input
    const settings = part('settings', SETTINGS_STEP, () => {
      const { MARKET, ROLES } = settingsOf(flags)
      return `${MARKET} market, roles ${ROLES.join(', ')}; Node.js ${process.versions.node}`
    })
    const findings = [await examine(settings)]
    if (findings[0]?.ok === true)
      for (const check of await checksOf(settingsOf(flags), input)) findings.push(await examine(check))
    if (flags.json) stdout.write(`${JSON.stringify(findings)}\n`)
    else
      for (const { part: name, ok, degraded, detail, next_step: step } of findings) {
        stdout.write(`${!ok ? 'fault' : degraded ? 'weak ' : 'ok   '}  ${name.padEnd(12)}  ${detail}\n`)
        if (step !== undefined) stdout.write(`${' '.repeat(21)}${step}\n`)
      }
    const fault = findings.find(({ ok }) => !ok)
    if (fault === undefined) return 0
    const definition = ERRORS[fault.code ?? 'internal_error']
    return 'exitCode' in definition ? definition.exitCode : 1
  },
})

export const commands: readonly Command[] = [doctorCommand]

async function examine({ name, check, nextStep }: Check) {
  try {
    const found = await check()
    if (typeof found === 'string') return { part: name, ok: true, degraded: false, detail: found }
    return { part: name, ok: true, degraded: true, detail: found.weak, next_step: nextStep }
  } catch (error) {
    const code = error instanceof ServiceError ? error.code : 'internal_error'
    return { part: name, ok: false, degraded: false, detail: reasonOf(error), code, next_step: nextStep }
  }
}

/** The parts of an installation that are there. */
async function checksOf(settings: Settings, input: CommandInput<typeof FLAGS>): Promise<readonly Check[]> {
  const { flags, texts, now, signal } = input
  const { X402_RPC_URL, X402_PAY_TO, NATS_URL, REDIS_URL } = settings
  const directory = join(settings.DATA_DIR, settings.MARKET)
  const socketPath = await findOwnerSocket(directory)
  const own = socketPath && openService({ socketPath, tries: 1, timeoutMs: CONNECT_MS }, signal)
  const again = flagsAgain(texts)
  const store = own
    ? part('store', 'docs/runbook.md has a section for each part.', async () =>
        describeState(await own.state()),
      )
    : part('store', STORE_STEP, () => describeStore(settings, directory))
  const checks = [store]
  const file = logFile(directory)
  if (existsSync(file)) {
    if (flags.log)
      checks.push(part('log', LOG_STEP, () => `${grouped(checkLog(file))} events, each as it was written`))
    checks.push(...folderChecks(settings, directory, now(), again))
  }
  if (own)
    checks.push(
      part('webhooks', `signal webhooks list${again}`, () =>
        describeWebhooks(own.pages('/operator/webhooks', {})),
      ),
    )
  if ((X402_RPC_URL ?? X402_PAY_TO) !== undefined)
    checks.push(part('chain', CHAIN_STEP, () => describeChain(settings)))
  if (NATS_URL !== undefined) checks.push(portCheck('NATS', NATS_URL, 4222))
  if (REDIS_URL !== undefined) checks.push(portCheck('Redis', REDIS_URL, 6379))
  return checks
}

/** Files beside a log, and the clock that dates its events. */
function folderChecks(settings: Settings, directory: string, now: number, again: string): readonly Check[] {
  const stored = <Value>(read: (rows: ReturnType<typeof openStoredRows>) => Value): Value => {
    const rows = openStoredRows(logFile(directory))
    try {
      return read(rows)
    } finally {
      rows.close()
    }
  }
  return [
    part('keys', `Copy it from where you keep it: cp sealing.key ${directory}/`, () => {
      requireKeyOfLog(settings, directory)
      return 'the sealing key that the log was begun under is there'
    }),
    part('clock', 'Set it by NTP: timedatectl set-ntp true', () => {
      const newestAt = stored((rows) => rows.at(rows.head())?.[6])
      const behindMs = newestAt === undefined ? 0 : Date.parse(newestAt) - now
      if (behindMs <= CLOCK_GRACE_MS) return 'not behind the newest event of the log'
      return { weak: `${Math.ceil(behindMs / 1_000)} s behind the newest event of the log` }
    }),
    part('backup', `Let cron run: signal backup ADDRESS${again}`, () => {
      const logId = stored((rows) => rows.find(STORE_IDENTITY_STREAM, 0)?.[5])
      const newest = newestBackup(directory, logId)
      if (newest === undefined) return { weak: 'none of this log is noted here' }
      const hours = Math.floor((now - Date.parse(newest.takenAt)) / HOUR_MS)
      const found = `the newest is ${hours} hours old and goes to position ${newest.position}`
      return hours < OLD_BACKUP_HOURS ? found : { weak: found }
    }),
    part('checkpoint', CHECKPOINT_STEP, () => {
      const kept = settings.LOG_NEWEST ?? join(directory, 'newest-checkpoint')
      if (existsSync(kept)) return `kept in ${kept}`
      return { weak: `none in ${kept}: none was signed yet, or it was removed` }
    }),
  ]
}

/** Whether the log is of this market and key, and may be read and appended to. It appends nothing. */
async function describeStore(settings: Settings, directory: string): Promise<Found> {
  const { EVENTSTORE_URL } = settings
  if (EVENTSTORE_URL === undefined) {
    if (!existsSync(logFile(directory))) return 'none yet; begun on the first start'
    requireKeyOfLog(settings, directory)
  }
  const store: EventStore =
    EVENTSTORE_URL === undefined
      ? await openEmbeddedStore({ directory, now: Date.now })
      : openEventStoreDbStore({ connectionString: EVENTSTORE_URL })
  try {
    const head = await store.head()
    const logId = await checkStore(store, identityOf(settings, factSecretOf(settings, directory)))
    if (logId === undefined && head !== START)
      throw new ServiceError('store_mismatch', { message: 'the store does not say whose it is' })
    const id = randomUUID()
    const meta = { correlationId: id, actor: 'doctor' }
    const event = { id, type: 'NeverAppended', schema: 1, data: {}, meta }
    const appending = store.append(STORE_IDENTITY_STREAM, [event], { expected: NEVER_REACHED })
    await appending.catch((error: unknown) => {
      if (!isServiceError(error, 'revision_conflict')) throw error
    })
    return head === START ? 'empty, may be appended to' : `of this market and key, newest position ${head}`
  } finally {
    await store.close()
  }
}

function describeState({ status, components }: ServiceState): Found {
  const problems = components.filter(({ state }) => state !== 'ok')
  const sentences = problems.map(({ name, state, detail }) => `${name} ${state}: ${detail}`)
  const found = `a service runs on it: ${[status, ...sentences].join('; ')}`
  if (status === 'unready') throw new ServiceError('store_unavailable', { message: found })
  return status === 'ready' ? found : { weak: found }
}

async function describeWebhooks(pages: AsyncIterable<unknown>): Promise<Found> {
  let failing = 0
  for await (const page of pages)
    for (const { state, failures_in_a_row: failures } of operatorSubscriptionsSchema.parse(page).webhooks)
      failing += Number(failures > 0 || state === 'disabled')
  return failing === 0 ? 'none is failing' : { weak: `${failing} failing` }
}

async function describeChain(settings: Settings): Promise<Found> {
  const { X402_RPC_URL: url, X402_FACILITATOR_URL, X402_NETWORK, X402_ASSET, X402_PAY_TO } = settings
  if (url === undefined) return { weak: 'payments are offered on it and refused: no node is set' }
  const on = requirePaymentChain(X402_NETWORK, X402_ASSET)
  const id = await (await openChain({ on, rpcUrl: url, requestMs: CONNECT_MS })).chainId()
  const found = `the node is of chain ${id}`
  if (id !== on.id)
    throw new ServiceError('config_invalid', { message: `${found}, and payments are on chain ${on.id}` })
  const isRefused = X402_PAY_TO !== undefined && X402_FACILITATOR_URL === undefined
  return isRefused ? { weak: `${found}; payments are refused: no facilitator is set` } : found
}

/** Checks that a server listens; only a start checks which server it is, and the password. */
function portCheck(name: string, url: string, defaultPort: number): Check {
  const { hostname: host, port } = new URL(url)
  return part(name, `Start ${name}, or correct ${name.toUpperCase()}_URL.`, async () => {
    const socket = connect({ host, port: Number(port || defaultPort) })
    socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error(`no answer within ${CONNECT_MS} ms`)))
    try {
      await once(socket, 'connect')
      return `${host} accepts connections`
    } catch (cause) {
      throw new ServiceError('dependency_unavailable', { message: `${host}: ${reasonOf(cause)}`, cause })
    } finally {
      socket.destroy()
    }
  })
}

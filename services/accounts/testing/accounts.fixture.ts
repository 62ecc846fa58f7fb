import { createHmac, randomBytes } from 'node:crypto'
import { accounts as accountsProjection } from '../../../projections/index.ts'
import {
  createMemoryLog,
  type MemoryLog,
  openMemoryStore,
} from '../../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../../log/event-store.ts'
import { type Projector, startProjector } from '../../log/projector/projector.ts'
import { openRowTables } from '../../log/projector/row-tables.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Cache } from '../../runtime/cache/cache.ts'
import { createMemoryCache } from '../../runtime/cache/memory-cache.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import { uuidV7 } from '../../runtime/ids/uuid.ts'
import { createAccountIndex } from '../account-index.ts'
import { type Accounts, type AccountsOptions, createAccounts } from '../accounts.ts'
import type { Mail } from '../mail/mailer.ts'

export const NOON = Date.UTC(2026, 10, 21, 12)
export const CLIENT = '192.0.2.1'
export const ORIGIN = { correlationId: 'request', actor: 'test' }

/** A process of the service, as far as accounts go. */
export interface Process {
  readonly accounts: Accounts
  readonly projector: Projector
  close(): Promise<void>
}

/** A log that several processes share, with a clock that moves only when it is set. */
export interface World {
  readonly log: MemoryLog
  now: number
  readonly mails: Mail[]
  /** The shared counter of sign-in mails of all processes. */
  readonly cache: Cache
  /** The results of sign-in mails. */
  readonly outcomes: ('sent' | 'held')[]
  /** The messages to the operator. */
  readonly reports: string[]
  /** Starts a process; its store can be replaced by a faulty one. */
  start(change?: Partial<AccountsOptions>): Promise<Process>
  store(): EventStore
  /** The code of the newest mail to an address. */
  codeFor(email: string): string
  /** Signs an address in. */
  signIn(accounts: Accounts, email: string): ReturnType<Accounts['confirmSignIn']>
  /** Everything in the log, as text. */
  text(): string
  closeAll(): Promise<void>
}

const SECRET = Buffer.alloc(32, 3)

/** Waiting takes hardly any time. */
const shortSleep: AccountsOptions['sleep'] = (ms, signal) => sleep(Math.min(ms, 4), signal)

export function aWorld(): World {
  const log = createMemoryLog()
  const processes: Process[] = []
  const world: World = {
    log,
    now: NOON,
    mails: [],
    cache: createMemoryCache({ now: () => world.now }),
    outcomes: [],
    reports: [],
    store: () => openMemoryStore({ now: () => world.now, log }),
    async start(change = {}) {
      const process = startProcess(world, change)
      processes.push(process)
      await process.projector.caughtUp()
      return {
        ...process,
        async close() {
          processes.splice(processes.indexOf(process), 1)
          await process.close()
        },
      }
    },
    codeFor(email) {
      const mail = world.mails.findLast(({ to }) => to === email)
      const [code] = /\b[0-9A-Z]{5}-[0-9A-Z]{5}\b/.exec(mail?.text ?? '') ?? []
      if (code === undefined) throw new Error(`no code was mailed to ${email}`)
      return code
    },
    async signIn(accounts, email) {
      await accounts.requestSignIn({ email, client: CLIENT }, ORIGIN)
      return accounts.confirmSignIn({ email, code: world.codeFor(email), label: 'sign-in' }, ORIGIN)
    },
    text: () => JSON.stringify(log.rows.map((row) => [row.stream, row.data, row.meta])),
    async closeAll() {
      await Promise.all(processes.splice(0).map((process) => process.close()))
    },
  }
  return world
}

/** The parts that every process of a world shares. */
export const partsOf = (world: World) => ({
  newId: () => uuidV7(world.now, randomBytes(10)),
  random: randomBytes,
  deriveSecret: (purpose: string) => createHmac('sha256', SECRET).update(purpose).digest(),
  now: () => world.now,
  sleep: shortSleep,
})

function startProcess(world: World, change: Partial<AccountsOptions>): Process {
  const store = change.store ?? world.store()
  const projector = startProjector({
    store,
    tables: openRowTables(':memory:', 'log'),
    projections: [accountsProjection],
    sleep: shortSleep,
  })
  const accounts = createAccounts({
    store,
    index: createAccountIndex(projector),
    ...partsOf(world),
    idOf: createFactIds(SECRET),
    mailer: {
      send: async (mail) => void world.mails.push(mail),
      close: async () => undefined,
    },
    cache: world.cache,
    onSignInMail: (outcome) => void world.outcomes.push(outcome),
    publicUrl: () => 'https://signals.example.com',
    report: (event, details) => void world.reports.push(`${event} ${JSON.stringify(details)}`),
    ...change,
  })
  return {
    accounts,
    projector,
    async close() {
      await accounts.close()
      await projector.close()
    },
  }
}

/** The code of the error that a promise rejects with; `none` where it resolves. */
export const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error)),
  )

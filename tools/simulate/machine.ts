import { createHmac } from 'node:crypto'
import type { Candle } from '../../contracts/domain/candle.ts'
import { BASE } from '../../contracts/domain/chain.ts'
import { EXCHANGES } from '../../contracts/domain/series.ts'
import { HIGHEST_CONFIDENCE } from '../../contracts/domain/timeframes.ts'
import { PROJECTIONS } from '../../projections/index.ts'
import {
  type Accounts,
  createAccountIndex,
  createAccounts,
  createDebitIndex,
  createQuotaLedger,
  createSubscriberAccounts,
} from '../../services/accounts/index.ts'
import { createOutcomeRecorder, createRecorder, type VerdictDraft } from '../../services/engine/index.ts'
import type { EventStore } from '../../services/log/event-store.ts'
import type { Leases } from '../../services/log/leases/leases.ts'
import { SharedLeases } from '../../services/log/leases/shared-leases.ts'
import { type Projector, startProjector } from '../../services/log/projector/projector.ts'
import type { RowTables } from '../../services/log/projector/row-tables.ts'
import { createPaymentIndex, createPayments, createSettler } from '../../services/payments/index.ts'
import { payments as paymentsProjection } from '../../services/payments/payments-projection.ts'
import type { RecoverSigner } from '../../services/payments/verification/recover-signer.ts'
import type { Bus } from '../../services/runtime/bus/bus.ts'
import type { Cache } from '../../services/runtime/cache/cache.ts'
import { createFactIds } from '../../services/runtime/ids/fact-id.ts'
import { uuidV7 } from '../../services/runtime/ids/uuid.ts'
import {
  type CallPath,
  createCallPath,
  createPaidCalls,
  type PaidCalls,
} from '../../services/tool-calls/index.ts'
import {
  createDispatcher,
  createSign,
  createSubscriptionDirectory,
  createSubscriptionIndex,
  createSubscriptions,
  openDeliveryLogs,
  relaySignals,
  type Sender,
  type Subscriptions,
  subscriptionsReadModel,
} from '../../services/webhooks/index.ts'
import type { Random } from '../cluster/random.ts'
import { followBars, type Market } from './market.ts'
import { type Host, never } from './network.ts'
import type { Around, Part, Seams } from './seams.ts'
import type { SimulatedChain } from './simulated-chain.ts'
import type { SimulatedTime } from './time.ts'

export const PAY_TO = '0x2222222222222222222222222222222222222222'
const SHARDS = 4
const SECRET = Buffer.alloc(32, 3)

/** A process, and its ways to everything outside it. */
export interface Machine extends Host {
  /** How much its clock is ahead, milliseconds. */
  readonly ahead: () => number
  readonly time: SimulatedTime
  readonly random: Random
  readonly store: EventStore
  readonly bus: Bus
  readonly cache: Cache
  readonly tables: RowTables
  readonly chain: ReturnType<SimulatedChain['connect']>
  readonly sender: Sender
  readonly recovery: RecoverSigner
  readonly market: Market
  readonly seams: Seams
  /** Told of what would be a fault of the program. */
  readonly onFault: (error: unknown) => void
}

/** Parts that run in a process. */
export interface Service {
  readonly accounts: Accounts
  readonly calls: CallPath
  readonly paid: PaidCalls
  readonly subscriptions: Subscriptions
  readonly projector: Projector
  /** By the name of their group. */
  readonly leases: ReadonlyMap<string, Leases>
  /** Ends all work, and resolves when it has ended. */
  stop(): Promise<void>
}

const idOf = createFactIds(SECRET)
const nothing = async (): Promise<void> => undefined

/** The production code of a process with every role, put together as the service does it, over simulated ports. */
// oxlint-disable-next-line max-lines-per-function -- composes a whole service, part after part, as a process does
export async function startMachine(machine: Machine): Promise<Service> {
  const { time, random, bus, cache, market, seams, onFault } = machine
  const ending = new AbortController()
  const { signal } = ending
  const now = (): number => time.now() + machine.ahead()
  const newId = (): string => uuidV7(time.now(), random.bytes(10))
  const sleep = async (milliseconds: number, until?: AbortSignal): Promise<void> => {
    await time.sleep(milliseconds, until)
    if (machine.dead.aborted) await never()
  }
  const around: Around = { random, newId, sleep }
  const storeOf = (part: Part): EventStore => seams.store?.(part, machine.store, around) ?? machine.store
  const { chain: plainChain, facilitator } = machine.chain
  const chain = seams.chain?.(plainChain) ?? plainChain
  const sender = seams.sender?.(machine.sender, around) ?? machine.sender
  const deriveSecret = (purpose: string): Uint8Array => createHmac('sha256', SECRET).update(purpose).digest()
  const randomBytes = (count: number): Uint8Array => random.bytes(count)
  const holder = newId()
  const publicUrl = (): string => 'https://signals.example.com'
  const report = (error: unknown): void => {
    if (error instanceof TypeError || error instanceof RangeError) onFault(error)
  }
  const leases = new Map<string, Leases>()
  const leasesOf = (group: string, shards: number): Leases => {
    const made = new SharedLeases({
      store: storeOf('leases'),
      group,
      shards,
      holder,
      newId,
      now,
      elapsed: time.now,
      sleep,
      report,
      ...seams.leases,
    })
    leases.set(group, made)
    return made
  }

  const projector = startProjector({
    store: storeOf('projector'),
    tables: seams.tables?.(machine.tables, around) ?? machine.tables,
    projections: [...PROJECTIONS, paymentsProjection, subscriptionsReadModel],
    sleep,
    onProblem: ({ state, detail }) => {
      if (state === 'stopped') onFault(new Error(`a read model stopped: ${detail}`))
    },
  })
  await projector.opened()
  const accountParts = {
    store: storeOf('accounts'),
    index: createAccountIndex(projector),
    newId,
    random: randomBytes,
    deriveSecret,
    now,
    sleep,
    signal,
  }
  const accounts = createAccounts({
    ...accountParts,
    idOf,
    cache,
    mailer: { send: nothing, close: nothing },
    publicUrl,
    report: () => undefined,
  })
  const ledger = createQuotaLedger({
    store: storeOf('quota'),
    index: createDebitIndex(projector),
    idOf,
    newId,
    now,
    sleep,
    signal,
  })
  const answer = async (tool: string) => ({ tool, verdict_id: newId() })
  const calls = createCallPath({
    identify: accounts.identify,
    anonymousPayer: (address) => `address-${idOf('address', address)}`,
    ledger,
    answer,
    market: 'simulated',
    version: 'simulated',
    now,
  })

  const payments = createPayments({
    on: BASE,
    proofKey: Buffer.alloc(32, 9),
    store: storeOf('payments'),
    index: createPaymentIndex(projector),
    chain,
    payTo: PAY_TO,
    offersGateway: false,
    taking: ['direct'],
    caps: { payer: 10n ** 9n, total: 10n ** 10n },
    recovery: machine.recovery,
    newId,
    now,
    elapsed: time.now,
    sleep,
  })
  const paid = createPaidCalls({
    calls,
    payments,
    identify: accounts.identify,
    answer,
    plans: { requireRoom: nothing, started: () => Promise.reject(new Error('no plans here')) },
    market: 'simulated',
    version: 'simulated',
    publicUrl,
  })
  const settler = createSettler({
    on: BASE,
    store: storeOf('settler'),
    reader: projector.reader(paymentsProjection),
    chain,
    facilitator,
    leases: leasesOf('settler', 1),
    onPaid: nothing,
    newId,
    now,
    elapsed: time.now,
    sleep,
    report: () => undefined,
  })

  const owners = createSubscriberAccounts(accountParts)
  const index = createSubscriptionIndex(projector)
  const store = storeOf('subscriptions')
  const sign = createSign({ userAgent: 'simulated' })
  const dispatcher = createDispatcher({
    store: storeOf('dispatcher'),
    bus,
    deliveries: openDeliveryLogs({ store: storeOf('deliveries'), newId, now, sleep, signal }),
    sender,
    sign,
    idOf,
    newId,
    sleep,
    shards: SHARDS,
    leases: leasesOf('dispatcher', SHARDS),
    holder,
    directory: createSubscriptionDirectory({ index, owners, now, sleep, signal }),
    baseUrl: publicUrl,
    mail: nothing,
    now,
    elapsed: time.now,
    random: random.next,
    report,
  })
  const subscriptions = createSubscriptions({
    store,
    owners,
    index,
    idOf,
    newId,
    sender,
    sign,
    sleep,
    signal,
    report: () => undefined,
    coverage: () => ({ highestConfidence: HIGHEST_CONFIDENCE, silentTimeframes: [], exchanges: undefined }),
    random: randomBytes,
    takeUnasked: nothing,
    mailOwner: async () => undefined,
    checkUrl: async (url) => ({ origin: new URL(url).origin }),
    baseUrl: publicUrl,
    now,
  })

  const engineLeases = leasesOf('engine', EXCHANGES.length)
  const recording = { store: storeOf('engine'), idOf, sleep, signal }
  const recorder = createRecorder({
    ...recording,
    clock: market.now,
    holds: (exchange) => engineLeases.held().some(({ shard }) => EXCHANGES[shard] === exchange),
  })
  const outcomes = createOutcomeRecorder(recording)
  const record = async (drafts: readonly VerdictDraft[], bars: readonly Candle[]): Promise<void> => {
    const [first] = drafts
    if (first === undefined) return
    const { exchange, coin, timeframe } = first
    const series = { exchange, coin, timeframe }
    await outcomes.label(series, bars, await recorder.record(series, drafts))
  }

  const working = Promise.all([
    relaySignals({ store, bus, signal, report }),
    dispatcher.run(signal),
    projector.caughtUp().then(() => settler.run(signal)),
    engineLeases.run({ gained: nothing, lost: nothing }, signal),
    ...market.series.map((series) =>
      followBars(series, { market, store: recording.store, sleep, signal, record }),
    ),
  ])
  working.catch((error: unknown) => {
    if (!signal.aborted) onFault(error)
  })
  return {
    accounts,
    calls,
    paid,
    subscriptions,
    projector,
    leases,
    async stop() {
      ending.abort()
      await Promise.all([
        working.catch(() => undefined),
        payments.close(),
        accounts.close(),
        subscriptions.ended(),
      ])
      await projector.close()
    },
  }
}

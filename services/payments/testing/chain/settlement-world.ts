import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Hex, PrivateKeyAccount } from 'viem'
import { BASE, type PaymentChain } from '../../../../contracts/domain/chain.ts'
import { decodeEvent, type ServiceEvent } from '../../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../../contracts/events/event-definition.ts'
import { PaymentClaimed } from '../../../../contracts/events/payment-events.ts'
import { paymentStream } from '../../../../contracts/events/streams.ts'
import { START } from '../../../../contracts/infra/position.ts'
import { openMemoryStore } from '../../../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../../../log/event-store.ts'
import { startProjector } from '../../../log/projector/projector.ts'
import { openRowTables } from '../../../log/projector/row-tables.ts'
import { sleep } from '../../../runtime/async/sleep.ts'
import { uuidV7 } from '../../../runtime/ids/uuid.ts'
import { createChain } from '../../chain/create-chain.ts'
import { evolvePayment, type Payment } from '../../payment.ts'
import { type PaymentsRow, payments } from '../../payments-projection.ts'
import { createFacilitator } from '../../settlement/facilitator.ts'
import { createSettler, type Settler, type SettlerOptions } from '../../settlement/settler.ts'
import { type ServedFacilitator, serveReferenceFacilitator } from './reference-facilitator.ts'
import { type AuthorizationTerms, signAuthorization } from './sign-authorization.ts'
import type { TestChain } from './test-chain.ts'

/** The recipient of all payments of a test. */
export const PAY_TO = '0x2222222222222222222222222222222222222222'

/** Waits that suit a chain whose blocks come at once. */
export const QUICK = {
  retryMs: 20,
  retryMaxMs: 80,
  pendingMs: 400,
} as const

const PAYMENTS_ALONE = [payments]

export const newId = (): string => uuidV7(Date.now(), randomBytes(10))

export interface ClaimTerms extends Partial<AuthorizationTerms> {
  readonly payer: PrivateKeyAccount
  readonly value: bigint
  readonly protocol?: 1 | 2
  readonly accountId?: string
  readonly isServedFirst?: boolean
  /** Another signature than the payer's. */
  readonly signature?: Hex
}

/** Claims an authorization as the service does, and answers its stream. */
export async function claim(store: EventStore, now: number, terms: ClaimTerms): Promise<string> {
  const {
    on = BASE,
    payer,
    value,
    rail = 'direct',
    protocol = 2,
    accountId = null,
    isServedFirst = true,
  } = terms
  const validBefore = terms.validBefore ?? BigInt(Math.floor(now / 1_000) + 300)
  const signed = await signAuthorization(payer, { payTo: PAY_TO, ...terms, validBefore })
  const contract = (rail === 'gateway' ? BASE.gateway : on.usdc).toLowerCase()
  const name = { chainId: on.id, contract, payer: signed.payer, nonce: signed.nonce }
  const data = {
    paymentId: newId(),
    rail,
    protocol,
    contract,
    accountId,
    isServedFirst,
    chainId: on.id,
    asset: on.usdc.toLowerCase(),
    payer: signed.payer,
    payTo: signed.payTo,
    value: value.toString(),
    validAfter: signed.validAfter.toString(),
    validBefore: Number(validBefore),
    nonce: signed.nonce,
    signature: terms.signature ?? signed.signature,
    product: 'get_trade_call',
    requestHash: createHash('sha256').update('the request').digest('hex'),
    answer: '{"call":"HOLD"}',
  }
  const event = newEvent(PaymentClaimed, {
    id: randomUUID(),
    data,
    meta: { correlationId: 'test', actor: 'test' },
  })
  const stream = paymentStream(name)
  await store.append(stream, [event], { expected: 'no-stream' })
  return stream
}

/** A settler over a log of its own, and what a test asks of both. */
export interface SettlementWorld {
  readonly store: EventStore
  readonly reports: string[]
  /** Payments that the settler has told of, in order. */
  readonly told: string[]
  claim(terms: ClaimTerms): Promise<string>
  start(change?: Partial<SettlerOptions>): Promise<Settler>
  /** Ends the settlers. */
  stop(): Promise<void>
  history(stream: string): Promise<ServiceEvent[]>
  payment(stream: string): Promise<Payment>
  /** Resolves when a payment is in one of these states. */
  until(stream: string, ...states: Payment['state'][]): Promise<Payment>
  untilEvent(type: ServiceEvent['type'], stream?: string): Promise<ServiceEvent>
  /** Lets everybody else have a turn, where no event tells what is waited for. */
  pause(): Promise<void>
}

export interface WorldOptions {
  /** Base where it is left out. */
  readonly on?: PaymentChain
  readonly chain?: TestChain
  /** The settler's address of the node; by default the node's own. */
  readonly rpcUrl?: string
  /** The wallet of a reference facilitator, which settles then. */
  readonly gasKey?: Hex
  /** The settler's address of a facilitator; by default that of the reference facilitator. */
  readonly facilitatorUrl?: string
  readonly store?: EventStore
  readonly now?: () => number
  readonly requestMs?: number
}

export function settlementWorld({ on = BASE, chain, gasKey, ...options }: WorldOptions): SettlementWorld {
  const now = options.now ?? (() => chain?.now() ?? Date.now())
  const store = options.store ?? openMemoryStore({ now })
  const ending = new AbortController()
  const running: Promise<unknown>[] = []
  const served: ServedFacilitator[] = []
  const reports: string[] = []
  const told: string[] = []

  async function startSettler(change: Partial<SettlerOptions> = {}): Promise<Settler> {
    const tables = openRowTables(':memory:', 'log')
    const projector = startProjector({ store, tables, projections: PAYMENTS_ALONE, sleep })
    await projector.caughtUp()
    const rpcUrl = options.rpcUrl ?? chain?.rpcUrl
    const requestMs = options.requestMs ?? 2_000
    const node = rpcUrl === undefined ? undefined : { rpcUrl, requestMs }
    const facilitatorUrl = options.facilitatorUrl ?? (await serveReference())
    const report: SettlerOptions['report'] = (event, details) =>
      void reports.push(`${event} ${JSON.stringify(details)}`)
    const reader = projector.reader<PaymentsRow>(payments)
    const settler = createSettler({
      on,
      store,
      reader,
      newId,
      now,
      sleep,
      report,
      chain: node && createChain({ on, ...node, elapsed: now }),
      facilitator:
        facilitatorUrl === undefined
          ? undefined
          : createFacilitator({ on, url: facilitatorUrl, publicUrl: () => 'https://signals.example.com' }),
      onPaid: async ({ paymentId }) => void told.push(paymentId),
      timing: QUICK,
      ...change,
    })
    running.push(settler.run(ending.signal).then(() => projector.close()))
    return settler
  }

  async function serveReference(): Promise<string | undefined> {
    if (gasKey === undefined || chain === undefined) return undefined
    const facilitator = await serveReferenceFacilitator(chain.rpcUrl, gasKey, on)
    served.push(facilitator)
    return facilitator.url
  }

  const paymentOf = async (stream: string): Promise<Payment> => {
    let payment: Payment | undefined
    for await (const event of store.read(stream)) payment = evolvePayment(payment, decodeEvent(event))
    if (payment === undefined) throw new Error(`${stream} holds no claim`)
    return payment
  }

  async function untilTrue<Value>(
    check: (event: ServiceEvent) => Promise<Value | undefined>,
  ): Promise<Value> {
    const found = new AbortController()
    for await (const item of store.subscribe({ after: START, signal: found.signal })) {
      const value = item.kind === 'event' ? await check(decodeEvent(item.event)) : undefined
      if (value === undefined) continue
      found.abort()
      return value
    }
    throw new Error('the subscription ended')
  }

  return {
    store,
    reports,
    told,
    claim: (terms) => claim(store, now(), { on, ...terms }),
    start: startSettler,
    async stop() {
      ending.abort()
      await Promise.all(running)
      for (const facilitator of served) facilitator.close()
    },
    history: (stream) => Array.fromAsync(store.read(stream), decodeEvent),
    payment: paymentOf,
    until: (stream, ...states) =>
      untilTrue(async (event) => {
        if (event.stream !== stream) return undefined
        const payment = await paymentOf(stream)
        return states.includes(payment.state) ? payment : undefined
      }),
    untilEvent: (type, stream) =>
      untilTrue(async (event) =>
        event.type === type && (stream === undefined || event.stream === stream) ? event : undefined,
      ),
    pause: () => sleep(5, ending.signal),
  }
}

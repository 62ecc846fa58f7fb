import type { z } from 'zod'
import { BASE } from '../../../contracts/domain/chain.ts'
import type { ServiceError } from '../../../contracts/errors/errors.ts'
import { EVENT_CATALOGUE, type EventType } from '../../../contracts/events/event-catalogue.ts'
import { type EventDefinition, newEvent } from '../../../contracts/events/event-definition.ts'
import type { PaymentClaimed } from '../../../contracts/events/payment-events.ts'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import { START } from '../../../contracts/infra/position.ts'
import {
  createMemoryLog,
  type MemoryLog,
  openMemoryStore,
} from '../../../testing/memory-store/memory-store.ts'
import { hurry } from '../../../testing/time/hurry.fixture.ts'
import type { EventStore } from '../../log/event-store.ts'
import { createPayments, type PaymentsOptions, type RunningPayments } from '../create-payments.ts'
import type { Payment } from '../payment.ts'
import type { Payments } from '../payments.ts'
import { openRecovery } from '../verification/recover-signer.ts'
import { createIndexInMemory, type IndexInMemory } from './index-in-memory.ts'
import { RICH_CHAIN } from './rich-chain.ts'
import {
  anAuthorization,
  encoded,
  NOW_S,
  nonceNumber,
  PAY_TO,
  payerNumber,
  paymentV1,
  paymentV2,
  signAuthorization,
  type TestPayer,
} from './sign-payment.ts'

const recovery = await openRecovery({
  report: () => {
    throw new Error('the fast way is right here')
  },
})

/** The key that every process of a test derives secrets from. */
const PROOF_KEY = Buffer.alloc(32, 9)
export const PUBLIC_URL = 'https://signals.example.com'

let ids = 0
/** Rises with each id, as those of a clock do. */
export const newId = (): string => `0190a000-0000-7000-8000-${String(++ids).padStart(12, '0')}`

const closings: (() => Promise<void>)[] = []
/** Ends all payments of a test; for its `afterEach`. */
export const closePayments = async (): Promise<void> => {
  await Promise.all(closings.splice(0).map((close) => close()))
}

/** One process with payments; those over one log share what is in it. */
export interface PaymentsInMemory {
  readonly payments: RunningPayments
  readonly store: EventStore
  readonly index: IndexInMemory
  events(): Promise<RecordedEvent[]>
  claims(): Promise<z.infer<typeof PaymentClaimed.data>[]>
  /** Appends what the settler would, behind what is there. */
  settle(payment: Pick<Payment, 'stream' | 'paymentId'>, type: EventType, more: object): Promise<void>
  confirm(payment: Pick<Payment, 'stream' | 'paymentId'>): Promise<void>
  /** @param reason why its money never comes */
  lose(payment: Payment, reason?: string): Promise<void>
  /** Confirms what was claimed so far. */
  settleClaimed(): Promise<void>
  /** Confirms every claim, those that are made from now on too, until the payments are closed. */
  settleAll(): void
}

export const TRANSACTION = `0x${'7a'.repeat(32)}` as const
const CONFIRMED = { transaction: TRANSACTION, blockNumber: 7, blockHash: TRANSACTION, by: 'facilitator' }

/** Payments as they are, over a log in memory and a chain on which everybody has enough. */
export function paymentsInMemory(
  change: Partial<PaymentsOptions> = {},
  log: MemoryLog = createMemoryLog(),
): PaymentsInMemory {
  const store = change.store ?? openMemoryStore({ now: () => NOW_S * 1_000, log })
  const index = createIndexInMemory(store)
  const ending = new AbortController()
  const payments = createPayments({
    on: BASE,
    proofKey: PROOF_KEY,
    store,
    index,
    chain: RICH_CHAIN,
    payTo: PAY_TO,
    offersGateway: true,
    taking: ['direct', 'gateway'],
    caps: { payer: 1_000_000n, total: 50_000_000n },
    recovery,
    newId,
    now: () => NOW_S * 1_000,
    elapsed: () => NOW_S * 1_000,
    sleep: hurry,
    ...change,
  })
  closings.push(() => {
    ending.abort()
    return payments.close()
  })
  const world: PaymentsInMemory = {
    payments,
    store,
    index,
    events: () => Array.fromAsync(store.readAll()),
    claims: async () =>
      (await world.events()).flatMap(({ type, data }) => (type === 'PaymentClaimed' ? [data as never] : [])),
    async settle({ stream, paymentId }, type, more) {
      const { length } = await Array.fromAsync(store.read(stream))
      const definition: EventDefinition = EVENT_CATALOGUE[type]
      const meta = { correlationId: 'test', actor: 'settler' }
      const event = newEvent(definition, { id: newId(), data: { paymentId, ...more }, meta })
      await store.append(stream, [event], { expected: length - 1 })
    },
    confirm: (payment) => world.settle(payment, 'SettlementConfirmed', CONFIRMED),
    lose: (payment, reason = 'cancelled') =>
      world.settle(payment, 'PaymentUncollectable', { reason, detail: 'a test' }),
    async settleClaimed() {
      for (const { type, stream, data } of await world.events())
        if (type === 'PaymentClaimed') await world.confirm({ stream, paymentId: data['paymentId'] as string })
    },
    settleAll() {
      void (async () => {
        for await (const item of store.subscribe({ after: START, signal: ending.signal })) {
          if (item.kind !== 'event' || item.event.type !== 'PaymentClaimed') continue
          const { stream, data } = item.event
          await world.settle(
            { stream, paymentId: data['paymentId'] as string },
            'SettlementConfirmed',
            CONFIRMED,
          )
        }
      })()
    },
  }
  return world
}

/** Changes that put an authorization on the rail of the gateway. */
export const WEEK = { rail: 'gateway', validBefore: BigInt(NOW_S + 604_900) } as const

/** A payment header, signed by its payer. */
export async function signedHeader(
  payer: TestPayer | number,
  nonce: number | bigint,
  change: Parameters<typeof anAuthorization>[1] = {},
  protocol: 1 | 2 = 2,
): Promise<string> {
  const signer = typeof payer === 'number' ? payerNumber(payer) : payer
  const authorization = anAuthorization(signer, { nonce: nonceNumber(nonce), ...change })
  const signature = await signAuthorization(signer, authorization)
  return encoded(protocol === 1 ? paymentV1(authorization, signature) : paymentV2(authorization, signature))
}

/** Payments that tell what they are asked, and whose questions fail as a test says. */
export interface WatchedPayments {
  readonly payments: Payments
  /** Names of the questions, in the order they were asked. */
  readonly asked: string[]
  /** Thrown by the question of this name, until it is deleted. */
  readonly failures: Map<keyof Payments, ServiceError>
}

export function watch(payments: Payments): WatchedPayments {
  const asked: string[] = []
  const failures = new Map<keyof Payments, ServiceError>()
  const watched = new Proxy(payments, {
    get(target, name: keyof Payments) {
      const part = target[name]
      if (typeof part !== 'function') return part
      return (...given: unknown[]): unknown => {
        asked.push(name)
        const failure = failures.get(name)
        if (failure !== undefined) throw failure
        return Reflect.apply(part, target, given)
      }
    },
  })
  return { payments: watched, asked, failures }
}

import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { BASE } from '../../../contracts/domain/chain.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import type { PlanPeriod } from '../../../projections/index.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { createServer } from '../../composition/server.ts'
import type { EventStore } from '../../log/event-store.ts'
import { type Projector, startProjector } from '../../log/projector/projector.ts'
import { openRowTables } from '../../log/projector/row-tables.ts'
import { mcpOptions } from '../../mcp/testing/mcp-edge.fixture.ts'
import {
  createPaymentIndex,
  createPayments,
  openRecovery,
  type PaymentsOptions,
} from '../../payments/index.ts'
import { payments as paymentsProjection } from '../../payments/payments-projection.ts'
import { RICH_CHAIN } from '../../payments/testing/rich-chain.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { uuidV7 } from '../../runtime/ids/uuid.ts'
import { createPaidCalls } from '../../tool-calls/index.ts'
import { NO_PAYMENTS } from './no-payments.ts'
import { serverOptions } from './server-options.fixture.ts'

/** The account of `Bearer key`. */
export const ADA = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
/** Whom everything is paid to, as the settings hold it. */
export const PAY_TO = `0x${'22'.repeat(20)}` as const

/** Every caller has used up the free calls. */
const NOBODY_HAS_CALLS = { call: () => Promise.reject(new ServiceError('quota_exhausted')) }

const DAYS_30_MS = 30 * 86_400_000

/** The paid routes over a log of their own, on a port of their own. */
export interface PaidService {
  readonly url: string
  readonly port: number
  readonly store: EventStore
  readonly projector: Projector
  /** Requests that were computed, as they came. */
  readonly computed: unknown[]
  /** Plans by the payment that bought them. */
  readonly plans: Map<string, PlanPeriod>
  /** For whoever settles: begins the plan of a payment. */
  startPlan(paymentId: string, product: string): Promise<void>
  stop(): Promise<void>
}

export interface PaidServiceOptions extends Partial<PaymentsOptions> {
  readonly store?: EventStore
  /** The answers of the tools; by default a new serial number each time. */
  readonly answer?: (tool: string, request: unknown) => Promise<JsonObject>
}

/**
 * Starts the service as callers see it: its real edge, path, payments and log; tools, keys and plans are the test's.
 *
 * @example const service = await startPaidService({ chain, taking: ['direct'] })
 */
export async function startPaidService(options: PaidServiceOptions = {}): Promise<PaidService> {
  const { now = Date.now, store = openMemoryStore({ now }), answer } = options
  const tables = openRowTables(':memory:', 'paid')
  const projector = startProjector({ store, tables, projections: [paymentsProjection], sleep })
  await projector.caughtUp()
  const address = { url: '' }
  const computed: unknown[] = []
  const plans = new Map<string, PlanPeriod>()
  const index = createPaymentIndex(projector)
  const payments = createPayments({
    on: BASE,
    proofKey: Buffer.alloc(32, 9),
    index,
    chain: RICH_CHAIN,
    payTo: PAY_TO,
    offersGateway: true,
    taking: ['direct', 'gateway'],
    caps: { payer: 1_000_000n, total: 500_000_000n },
    recovery: await openRecovery({ report: () => undefined }),
    newId: () => uuidV7(now(), randomBytes(10)),
    sleep,
    ...options,
    store,
    now,
    elapsed: now,
  })
  const startPlan = async (paymentId: string, product: string): Promise<void> => {
    const tier = product === 'plans/pro' ? 'pro' : 'starter'
    if (!plans.has(paymentId)) plans.set(paymentId, { tier, from: now(), to: now() + DAYS_30_MS })
  }
  const window = { id: '2026-11', from: 0, to: 1 }
  const paid = createPaidCalls({
    calls: NOBODY_HAS_CALLS,
    payments,
    async identify(authorization) {
      if (authorization !== 'Bearer key') return { outcome: 'ABSENT' }
      return { outcome: 'OK', accountId: ADA, keyId: ADA, tier: 'free', window }
    },
    async answer(tool, request) {
      computed.push(request)
      return answer?.(tool, request) ?? { tool, request: request as JsonObject, serial: computed.length }
    },
    plans: {
      requireRoom: async () => undefined,
      async started({ paymentId, tier }) {
        await startPlan(paymentId, `plans/${tier}`)
        return plans.get(paymentId) ?? { tier, from: 0, to: 0 }
      },
    },
    market: 'simulated',
    version: '1.2.3',
    publicUrl: () => address.url,
  })
  const app = await createServer(
    serverOptions({
      newId: () => uuidV7(Date.now(), randomBytes(10)),
      mcp: mcpOptions({ calls: NOBODY_HAS_CALLS, paid: paid.tools }),
      payments: {
        ...NO_PAYMENTS,
        paid,
        showPayment: (id) => payments.show(id),
      },
    }),
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  address.url = `http://127.0.0.1:${port}`
  return {
    url: address.url,
    port,
    store,
    projector,
    computed,
    plans,
    startPlan,
    async stop() {
      await app.close()
      await payments.close()
      await projector.close()
      await store.close()
    },
  }
}

import { join } from 'node:path'
import { BASE } from '../../../contracts/chain.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Rail } from '../../../contracts/payment-events.ts'
import type { Leases } from '../../log/lease/leases.ts'
import {
  cdpAuthorize,
  createChain,
  createFacilitator,
  createOfferSigner,
  createPaymentAdmin,
  createPaymentIndex,
  createPayments,
  createRefunder,
  createRefundWallet,
  createSettler,
  createWallet,
  type DemoChain,
  type Facilitator,
  openRecovery,
  type PaymentTotals,
  payments as paymentsProjection,
  type RefundHealth,
  type Settler,
  startDemoChain,
} from '../../payments/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import { createPaidCalls } from '../../tool-calls/index.ts'
import type { OnClose } from '../adapters/open-platform.ts'
import { sharedLeases } from '../adapters/shared-leases.ts'
import type { ServerOptions } from '../server.ts'
import { planSalesOf, startPaidPlan } from './bought-plans.ts'
import type { KnownCallerDeps } from './caller-deps.ts'

/** Of Circle, for the rail beside the chain; on a live market only. */
const GATEWAY_URL = 'https://gateway-api.circle.com/v1/x402'

/** Payments of this process, and what settles them where it has that role. */
export interface OpenedPayments {
  readonly server: NonNullable<ServerOptions['payments']>
  /** Whether offers can be made at all. */
  readonly isOffering: boolean
  readonly settler: Settler | undefined
  /** Undefined where nobody shares the settling with this process. */
  readonly leases: Leases | undefined
  readonly demo: DemoChain | undefined
  /** Undefined where this process does not settle. */
  refunds(): RefundHealth | undefined
  /** Undefined where this process keeps no read models. */
  totals(): PaymentTotals | undefined
  /** Begins to settle; resolves when it has ended. */
  run(signal: AbortSignal): Promise<void>
}

/** What the settings say of the chain; a demo chain brings its own. */
interface Rails {
  readonly payTo: string | undefined
  readonly rpcUrl: string | undefined
  readonly settlerKey: string | undefined
  readonly refundKey: string | undefined
  readonly gatewayUrl: string | undefined
  readonly offersGateway: boolean
}

/** @throws ServiceError `config_invalid` for a demo chain that cannot be started, or a key that is none */
export async function openPayments(deps: KnownCallerDeps, onClose: OnClose): Promise<OpenedPayments> {
  const { settings, platform, projector, accounts, log, publicUrl } = deps
  const { store, newId } = platform
  const report = (event: string, details: Readonly<Record<string, string | number>>): void =>
    log.warn(details, event)
  const demo = settings.DEMO_CHAIN
    ? await startDemoChain({ directory: join(platform.directory, 'demo-chain'), report })
    : undefined
  if (demo !== undefined) onClose(() => demo.stop())
  const rails = railsOf(settings, demo)
  const facilitator = facilitatorOf(settings, publicUrl)
  const gateway =
    rails.gatewayUrl === undefined ? undefined : createFacilitator({ url: rails.gatewayUrl, publicUrl })
  const { rpcUrl, settlerKey } = rails
  const on = demo?.on ?? BASE
  const chain =
    rpcUrl === undefined ? undefined : createChain({ on, rpcUrl, elapsed: () => performance.now() })
  const wallet =
    rpcUrl === undefined || settlerKey === undefined
      ? undefined
      : createWallet({ on, rpcUrl, privateKey: settlerKey })
  const direct = wallet !== undefined || facilitator !== undefined
  const taking: Rail[] = [
    ...(direct ? (['direct'] as const) : []),
    ...(gateway ? (['gateway'] as const) : []),
  ]
  const index = projector && createPaymentIndex(projector)
  const ending = new AbortController()
  const signer = createOfferSigner({ on, seed: platform.deriveSecret('signed offers'), publicUrl })
  const payments = createPayments({
    on,
    signer,
    proofKey: platform.deriveSecret('payment secrets'),
    publicUrl,
    store,
    index,
    chain,
    // Beside a node the wallet settles, or the facilitator is asked about nothing that the node knows.
    facilitator,
    gateway,
    payTo: rails.payTo,
    offersGateway: rails.offersGateway,
    taking,
    caps: { payer: settings.X402_PAYER_CAP, total: settings.X402_TOTAL_CAP },
    recovery: await openRecovery({ report }),
    newId,
    now: Date.now,
    elapsed: () => performance.now(),
    sleep,
    report,
  })
  onClose(async () => {
    ending.abort()
    await payments.close()
  })
  const paymentAdmin = createPaymentAdmin({
    on,
    store,
    index,
    newId,
    now: Date.now,
    sleep,
    signal: ending.signal,
  })
  const isSettler = settings.ROLES.includes('settler') && projector !== undefined && taking.length > 0
  const leases = isSettler
    ? sharedLeases({ settings, platform, group: 'settler', shards: 1, log })
    : undefined
  const refundWallet =
    wallet === undefined || rails.rpcUrl === undefined || rails.refundKey === undefined
      ? undefined
      : createRefundWallet({ on, rpcUrl: rails.rpcUrl, privateKey: rails.refundKey })
  const refunder = isSettler
    ? createRefunder({
        on,
        store,
        newId,
        sleep,
        report,
        reader: projector.reader(paymentsProjection),
        wallet: refundWallet,
        dailyCap: settings.X402_REFUND_DAILY_CAP,
        now: Date.now,
      })
    : undefined
  const settler = isSettler
    ? createSettler({
        on,
        store,
        chain,
        wallet,
        facilitator,
        gateway,
        newId,
        sleep,
        report,
        reader: projector.reader(paymentsProjection),
        leases,
        onPaid: (payment) => startPaidPlan(accounts, payment, (unbegun) => payments.planNotBegun(unbegun)),
        refunds: refunder,
        now: Date.now,
      })
    : undefined
  const paid = createPaidCalls({
    calls: deps.calls,
    payments,
    identify: accounts.identify,
    answer: async (tool, request, payer) =>
      (await deps.toolHandler.answer(tool, request, payer)) as JsonObject,
    plans: planSalesOf(accounts),
    market: settings.MARKET,
    version: deps.version,
    publicUrl,
    withdrawn: () => deps.speech.note(deps.marketNow()),
  })
  return {
    server: {
      paid,
      showPayment: (id) => payments.show(id),
      creditOf: (payer) => BigInt(index?.payer(payer)?.credit ?? '0'),
      paymentAdmin,
      receipts: { of: (payment) => payments.signedReceipt(payment), didDocument: () => signer.didDocument() },
    },
    isOffering: payments.isOffering,
    settler,
    leases,
    demo,
    refunds: () => refunder?.health(),
    totals: () => paymentAdmin.totals(),
    async run(signal) {
      if (settler === undefined || projector === undefined) return
      await projector.caughtUp()
      await settler.run(signal)
    },
  }
}

function railsOf(settings: Settings, demo: DemoChain | undefined): Rails {
  const { X402_PAY_TO, X402_RPC_URL, X402_SETTLER_KEY, X402_GATEWAY_URL: gateway, MARKET } = settings
  const payTo = demo?.payTo ?? X402_PAY_TO
  const known = gateway ?? (MARKET === 'live' ? GATEWAY_URL : undefined)
  return {
    payTo,
    rpcUrl: demo?.rpcUrl ?? X402_RPC_URL,
    settlerKey: demo?.settlerKey ?? X402_SETTLER_KEY,
    refundKey: demo?.refundKey ?? settings.X402_REFUND_KEY,
    gatewayUrl: payTo === undefined || known === 'off' ? undefined : known,
    // Its play money is none of the gateway's.
    offersGateway: demo === undefined && gateway !== 'off',
  }
}

function facilitatorOf(settings: Settings, publicUrl: () => string): Facilitator | undefined {
  const { X402_FACILITATOR_URL: url, X402_FACILITATOR_TOKEN: token, X402_CDP_KEY: key } = settings
  if (url === undefined) return undefined
  const byToken = token === undefined ? undefined : () => `Bearer ${token}`
  const authorize = key === undefined ? byToken : cdpAuthorize(key, Date.now)
  return createFacilitator({ url, publicUrl, authorize })
}

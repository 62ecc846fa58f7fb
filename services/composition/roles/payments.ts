import { type PaymentChain, requirePaymentChain } from '../../../contracts/chain.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Rail } from '../../../contracts/payment-events.ts'
import {
  cdpAuthorize,
  createFacilitator,
  createPaymentAdmin,
  createPaymentIndex,
  createPayments,
  createSettler,
  createThreadedRecovery,
  createViemRecovery,
  type Facilitator,
  openNode,
  openRecovery,
  payments as paymentsProjection,
} from '../../payments/index.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import { createPaidCalls } from '../../tool-calls/index.ts'
import { sharedLeases } from '../adapters/shared-leases.ts'
import type { CallerDeps } from '../deps.ts'
import type { ServerOptions } from '../server.ts'
import { planSalesOf, startPaidPlan } from './bought-plans.ts'

/** Circle's gateway, the rail beside the chain; on a live market only. */
const GATEWAY_URL = 'https://gateway-api.circle.com/v1/x402'

/**
 * Payments of this process, and what settles them where it has that role.
 *
 * @throws ServiceError `config_invalid` for a key that is none
 */
export async function openPayments(deps: CallerDeps) {
  const { settings, platform, projector, accounts, log, publicUrl, closing, onClose } = deps
  const report = (event: string, details: Readonly<Record<string, string | number>>): void =>
    log.warn(details, event)
  const rails = await openRails(settings, publicUrl)
  const index = projector && createPaymentIndex(projector)
  const common = { ...platform.basics, ...rails, report }
  const payments = createPayments({
    ...common,
    proofKey: platform.deriveSecret('payment secrets'),
    publicUrl,
    index,
    caps: { payer: settings.X402_PAYER_CAP, total: settings.X402_TOTAL_CAP },
    // A start without payments loads no binary for them.
    recovery:
      rails.payTo === undefined
        ? createViemRecovery()
        : await openRecovery({ report, createFast: createThreadedRecovery }),
    elapsed: () => performance.now(),
  })
  onClose(() => payments.close())
  const paymentAdmin = createPaymentAdmin({ ...common, index, signal: closing })
  const { leases, settler } = openSettling(deps, common, (payment) =>
    startPaidPlan(accounts, payment, report),
  )
  const server: NonNullable<ServerOptions['payments']> = {
    paid: createPaidCalls({
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
    }),
    showPayment: (id) => payments.show(id),
    paymentAdmin,
  }
  return {
    server,
    /** Whether offers can be made at all. */
    isOffering: payments.isOffering,
    settler,
    /** Undefined where nobody shares the settling with this process. */
    leases,
    /** Undefined where this process keeps no read models. */
    totals: () => paymentAdmin.totals(),
    /** Begins to settle; resolves when it has ended. */
    async run(signal: AbortSignal): Promise<void> {
      if (settler === undefined || projector === undefined) return
      await projector.caughtUp(signal)
      await settler.run(signal)
    },
  }
}

/** The part that settles; undefined in a process that does not. */
function openSettling(
  deps: CallerDeps,
  rails: Rails & Pick<Parameters<typeof createSettler>[0], 'store' | 'newId' | 'now' | 'sleep' | 'report'>,
  onPaid: Parameters<typeof createSettler>[0]['onPaid'],
) {
  const { settings, projector } = deps
  if (!settings.ROLES.includes('settler') || projector === undefined || rails.taking.length === 0) return {}
  const leases = sharedLeases(deps, 'settler', 1)
  const reader = projector.reader(paymentsProjection)
  return { leases, settler: createSettler({ ...rails, reader, leases, onPaid }) }
}

type Rails = Awaited<ReturnType<typeof openRails>>

/** The ways in which money comes in, as the settings say. */
async function openRails(settings: Settings, publicUrl: () => string) {
  const { X402_PAY_TO: payTo, X402_RPC_URL: rpcUrl, X402_SETTLER_KEY: settlerKey } = settings
  const { X402_GATEWAY_URL: gatewaySetting, MARKET } = settings
  const on = requirePaymentChain(settings.X402_NETWORK, settings.X402_ASSET)
  const gatewayUrl = gatewaySetting ?? (MARKET === 'live' ? GATEWAY_URL : undefined)
  const node = rpcUrl === undefined ? undefined : await openNode({ on, rpcUrl, settlerKey })
  // Beside a node the wallet settles, or the facilitator is asked about nothing that the node knows.
  const facilitator = facilitatorOf(settings, on, publicUrl)
  const gateway =
    payTo === undefined || on.gateway === undefined || gatewayUrl === undefined || gatewayUrl === 'off'
      ? undefined
      : createFacilitator({ on, url: gatewayUrl, publicUrl })
  const taking: Rail[] = []
  if (node?.wallet !== undefined || facilitator !== undefined) taking.push('direct')
  if (gateway !== undefined) taking.push('gateway')
  return {
    on,
    payTo,
    chain: node?.chain,
    wallet: node?.wallet,
    facilitator,
    gateway,
    offersGateway: gatewaySetting !== 'off',
    taking,
  }
}

function facilitatorOf(
  settings: Settings,
  on: PaymentChain,
  publicUrl: () => string,
): Facilitator | undefined {
  const { X402_FACILITATOR_URL: url, X402_FACILITATOR_TOKEN: token, X402_CDP_KEY: key } = settings
  if (url === undefined) return undefined
  const byToken = token === undefined ? undefined : () => `Bearer ${token}`
  const authorize = key === undefined ? byToken : cdpAuthorize(key, Date.now)
  return createFacilitator({ on, url, publicUrl, authorize })
}

import { type PaymentChain, requirePaymentChain } from '../../../contracts/domain/chain.ts'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import type { Rail } from '../../../contracts/events/payment-events.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { type Component, optionalComponent } from '../../http/routes/health.ts'
import {
  cdpAuthorize,
  createFacilitator,
  createPaymentAdmin,
  createPaymentIndex,
  createPayments,
  createSettler,
  type Facilitator,
  openChain,
  openRecovery,
  payments as paymentsProjection,
  type SettlerHealth,
} from '../../payments/index.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import { createPaidCalls, planSalesOf, startPaidPlan } from '../../tool-calls/index.ts'
import { sharedLeases } from '../adapters/open-leases.ts'
import type { CallerParts } from '../shared-parts.ts'

/** Circle's gateway, the rail beside the chain; on a live market only. */
const GATEWAY_URL = 'https://gateway-api.circle.com/v1/x402'

/**
 * Payments of this process, and what settles them if it has that role. @throws ServiceError `config_invalid` for a key
 * of the facilitator that is none
 */
export async function openPayments(parts: CallerParts) {
  const { settings, platform, projector, accounts, log, publicUrl, shutdown } = parts
  const report = (event: string, details: Readonly<Record<string, string | number>>): void =>
    log.warn(details, event)
  const rails = await openRails(settings, publicUrl)
  if (rails.payTo !== undefined && !rails.taking.includes('direct'))
    log.warn('payments on the chain are offered and refused: set X402_RPC_URL and X402_FACILITATOR_URL')
  const index = projector && createPaymentIndex(projector)
  const common = { ...platform.basics, ...rails, report }
  const payments = createPayments({
    ...common,
    proofKey: platform.deriveSecret('payment secrets'),
    index,
    caps: { payer: settings.X402_PAYER_CAP, total: settings.X402_TOTAL_CAP },
    // A start without payments loads no binary for them.
    recovery: rails.payTo === undefined ? undefined : await openRecovery({ report }),
    elapsed: () => performance.now(),
  })
  shutdown.onClose(() => payments.close())
  const paymentAdmin = createPaymentAdmin({ ...common, index, signal: shutdown.stopSignal })
  const isSettler = settings.ROLES.includes('settler') && rails.taking.length > 0
  const settler =
    isSettler && projector !== undefined
      ? createSettler({
          ...common,
          reader: projector.reader(paymentsProjection),
          leases: sharedLeases(parts, 'settler', 1),
          onPaid: (payment) => startPaidPlan(accounts, payment, report),
        })
      : undefined
  const paid = createPaidCalls({
    calls: parts.calls,
    payments,
    identify: accounts.identify,
    answer: async (tool, request, payer) =>
      (await parts.toolHandler.answer(tool, request, payer)) as JsonObject,
    plans: planSalesOf(accounts),
    market: settings.MARKET,
    version: parts.version,
    publicUrl,
    withdrawn: () => parts.speech.note(parts.marketNow()),
  })
  return {
    server: { paid, showPayment: (id: string) => payments.show(id), paymentAdmin },
    isOffering: payments.isOffering,
    settler,
    /** Undefined until this process has read the payments of the log, if it keeps read models. */
    totals: () =>
      projector?.reader(paymentsProjection).health().hasBeenLive === true ? paymentAdmin.totals() : undefined,
    health: (): Component[] => (settler === undefined ? [] : [settlerComponent(settler.health())]),
    async run(signal: AbortSignal): Promise<void> {
      await projector?.caughtUp(signal)
      await settler?.run(signal)
    },
  }
}

/** Paid calls are answered without it, up to the caps. */
const settlerComponent = ({ ok, detail, payableSince }: SettlerHealth): Component =>
  optionalComponent('settler', ok ? undefined : detail, detail, {
    payable_since: payableSince === undefined ? null : isoTime(payableSince),
  })

/** The ways in which money comes in, as the settings say. */
async function openRails(settings: Settings, publicUrl: () => string) {
  const { X402_PAY_TO: payTo, X402_RPC_URL: rpcUrl } = settings
  const { X402_GATEWAY_URL: gatewaySetting, MARKET } = settings
  const on = requirePaymentChain(settings.X402_NETWORK, settings.X402_ASSET)
  const gatewayUrl = gatewaySetting ?? (MARKET === 'live' ? GATEWAY_URL : undefined)
  const chain = rpcUrl === undefined ? undefined : await openChain({ on, rpcUrl })
  const facilitator = facilitatorOf(settings, on, publicUrl)
  const gateway =
    payTo === undefined || on.gateway === undefined || gatewayUrl === undefined || gatewayUrl === 'off'
      ? undefined
      : createFacilitator({ on, url: gatewayUrl, publicUrl })
  const taking: Rail[] = []
  // A facilitator submits, and the node decides.
  if (chain !== undefined && facilitator !== undefined) taking.push('direct')
  if (gateway !== undefined) taking.push('gateway')
  const offersGateway = gatewaySetting !== 'off'
  return { on, payTo, chain, facilitator, gateway, offersGateway, taking }
}

function facilitatorOf(
  { X402_FACILITATOR_URL: url, X402_FACILITATOR_TOKEN: token, X402_CDP_KEY: key }: Settings,
  on: PaymentChain,
  publicUrl: () => string,
): Facilitator | undefined {
  if (url === undefined) return undefined
  const byToken = token === undefined ? undefined : () => `Bearer ${token}`
  const authorize = key === undefined ? byToken : cdpAuthorize(key, Date.now)
  return createFacilitator({ on, url, publicUrl, authorize })
}

import type { JsonObject } from '../../contracts/infra/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Projection, Rows } from '../../projections/index.ts'
import type { ProjectionReader } from '../log/projector/projector.ts'
import {
  evolvePayment,
  isAwaited,
  isDebt,
  isOpen,
  isPayable,
  isUnsettled,
  isWaiting,
  type Payment,
} from './payment.ts'

/** Sums of one payer, or of all payers. Amounts are millionths of a USDC. */
export interface PayerTotals extends JsonObject {
  /** Served and not settled. */
  readonly unsettled: string
  /** Claimed on the direct rail, served or not, and not settled. */
  readonly awaited: string
  /** Claims that are not served before their money is there, which has not come: on the direct rail, and the gateway's. */
  readonly waiting: number
  readonly waitingGateway: number
  /** Served and never paid, less what was paid before it was served since. */
  readonly debt: string
  readonly claims: number
  /** Payments that are not at their end. */
  readonly open: number
}

/** Payments that are not at their end, that could be settled now, or that are for an account. The value says no more than the key. */
export interface OpenPayment extends JsonObject {
  readonly paymentId: string
}

/** How many claims are in each state; states that none is in may be left out. */
export interface ClaimCounts extends JsonObject {
  readonly [state: string]: number
}

export type PaymentsRow = Payment | PayerTotals | OpenPayment | ClaimCounts

export const PAYMENT_PREFIX = 'payment/'
export const OPEN_PAYMENT_PREFIX = 'open/'
export const PAYABLE_PREFIX = 'payable/'
/** @param paymentId a UUID that begins with its time, so that rows stand in the order of their claims */
export const paymentRowKey = (paymentId: string): string => `${PAYMENT_PREFIX}${paymentId}`
export const openPaymentKey = (paymentId: string): string => `${OPEN_PAYMENT_PREFIX}${paymentId}`
export const payableKey = (paymentId: string): string => `${PAYABLE_PREFIX}${paymentId}`
/** Payments for the plans of an account. */
export const accountPaymentPrefix = (accountId: string): string => `account/${accountId}/`
/** @param payer an address in lower case */
export const payerKey = (payer: string): string => `payer/${payer}`
export const TOTALS_KEY = 'total'
export const CLAIM_COUNTS_KEY = 'states'

const NOTHING: PayerTotals = {
  unsettled: '0',
  awaited: '0',
  waiting: 0,
  waitingGateway: 0,
  debt: '0',
  claims: 0,
  open: 0,
}

/** Every payment and where it stands, those that are not at their end, those to settle, those of an account, and what each payer owes. */
export const payments: Projection<PaymentsRow> = {
  name: 'payments',
  version: 7,
  events: [
    'PaymentClaimed',
    'SettlementRequested',
    'SettlementBroadcast',
    'SettlementFailed',
    'SettlementUnknown',
    'SettlementConfirmed',
    'SettlementFinalised',
    'SettlementReorged',
    'PaymentUncollectable',
    'RefundSent',
  ],
  fold(rows, event) {
    if (!('paymentId' in event.data)) return
    const { paymentId } = event.data
    const key = paymentRowKey(paymentId)
    // A claim is the first of its payment: there is no row to look for.
    const before = event.type === 'PaymentClaimed' ? undefined : (rows as Rows<Payment>).get(key)
    const after = evolvePayment(before, event)
    if (after === undefined) return
    rows.put(key, after)
    if (before === undefined && after.accountId !== null)
      rows.put(`${accountPaymentPrefix(after.accountId)}${paymentId}`, { paymentId })
    if (isOpen(after)) rows.put(openPaymentKey(paymentId), { paymentId })
    else rows.delete(openPaymentKey(paymentId))
    if (isPayable(after)) rows.put(payableKey(paymentId), { paymentId })
    else rows.delete(payableKey(paymentId))
    change(rows, after.payer, (sums) => sumsAfter(sums, before, after))
    if (before?.state !== after.state) countState(rows as Rows<ClaimCounts>, before, after)
  },
}

function countState(rows: Rows<ClaimCounts>, before: Payment | undefined, after: Payment): void {
  const { [before?.state ?? '']: left = 0, ...others } = rows.get(CLAIM_COUNTS_KEY) ?? {}
  rows.put(CLAIM_COUNTS_KEY, {
    ...others,
    ...(before !== undefined && left > 1 && { [before.state]: left - 1 }),
    [after.state]: (others[after.state] ?? 0) + 1,
  })
}

const PAID: ReadonlySet<Payment['state']> = new Set(['confirmed', 'final', 'refunded'])

/** A payment's share of a sum. */
type Share = (payment: Payment) => bigint

const valueWhere =
  (counts: (payment: Payment) => boolean): Share =>
  (payment) =>
    counts(payment) ? BigInt(payment.value) : 0n

const unsettledOf = valueWhere(isUnsettled)
const awaitedOf = valueWhere((payment) => payment.rail === 'direct' && isAwaited(payment))
const debtOf = valueWhere(isDebt)
/** Paid in advance, and there: what a payer in debt is let do. */
const regainedOf = valueWhere(({ state, isServedFirst }) => !isServedFirst && PAID.has(state))

function sumsAfter(sums: PayerTotals, before: Payment | undefined, after: Payment): PayerTotals {
  const moved = (share: Share): bigint => share(after) - (before === undefined ? 0n : share(before))
  // Who has a debt is trusted again once it has paid as much in advance; what the chain takes back of that is owed
  // again, since its answer may have left. Forgotten debts may be paid after all.
  const debt = BigInt(sums.debt) + moved(debtOf) - moved(regainedOf)
  const counted = (counts: (payment: Payment) => boolean): number =>
    Number(counts(after)) - Number(before !== undefined && counts(before))
  return {
    ...sums,
    unsettled: (BigInt(sums.unsettled) + moved(unsettledOf)).toString(),
    awaited: (BigInt(sums.awaited) + moved(awaitedOf)).toString(),
    waiting: sums.waiting + counted((payment) => payment.rail === 'direct' && isWaiting(payment)),
    waitingGateway:
      sums.waitingGateway + counted((payment) => payment.rail === 'gateway' && isWaiting(payment)),
    debt: (debt < 0n ? 0n : debt).toString(),
    claims: sums.claims + (before === undefined ? 1 : 0),
    open: sums.open + counted(isOpen),
  }
}

/** Changes the sums of a payer, and those of all payers by as much. */
function change(rows: Rows<PaymentsRow>, payer: string, by: (before: PayerTotals) => PayerTotals): void {
  const totals = rows as Rows<PayerTotals>
  const before = totals.get(payerKey(payer)) ?? NOTHING
  const after = by(before)
  totals.put(payerKey(payer), after)
  const all = totals.get(TOTALS_KEY) ?? NOTHING
  const sum = (name: 'unsettled' | 'awaited' | 'debt'): string =>
    (BigInt(all[name]) + BigInt(after[name]) - BigInt(before[name])).toString()
  const count = (name: 'waiting' | 'waitingGateway' | 'claims' | 'open'): number =>
    all[name] + after[name] - before[name]
  totals.put(TOTALS_KEY, {
    unsettled: sum('unsettled'),
    awaited: sum('awaited'),
    waiting: count('waiting'),
    waitingGateway: count('waitingGateway'),
    debt: sum('debt'),
    claims: count('claims'),
    open: count('open'),
  })
}

/** The ids of payments that are not at their end. */
export function* openPayments(reader: Pick<ProjectionReader<PaymentsRow>, 'range'>): Generator<string> {
  for (let after: string | undefined, isMore = true; isMore; ) {
    const prefix = OPEN_PAYMENT_PREFIX
    const rows = reader.range({ prefix, ...(after && { after }), limit: LIMITS.rowsPerPage })
    for (const { row } of rows) yield (row as OpenPayment).paymentId
    after = rows.at(-1)?.key
    isMore = rows.length === LIMITS.rowsPerPage
  }
}

import { afterEach, expect, test } from 'vitest'
import { isServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { createPayments, type PaymentsOptions, type RunningPayments } from '../payments/create-payments.ts'
import { openRecovery } from '../payments/recovery/open-recovery.ts'
import type { FacilitatorOpinion } from '../payments/settlement/facilitator.ts'
import { createIndexInMemory } from '../payments/testing/index-in-memory.ts'
import { RICH_CHAIN } from '../payments/testing/rich-chain.ts'
import {
  anAuthorization,
  encoded,
  NOW_S,
  nonceNumber,
  PAY_TO,
  payerNumber,
  paymentV2,
  signAuthorization,
} from '../payments/testing/sign-payment.ts'
import { sleep } from '../platform/async/sleep.ts'
import { createMemoryLog, openMemoryStore } from '../platform/event-store/memory/memory-store.ts'
import { createPaidHandshake, type PaidWork } from './paid-handshake.ts'

const recovery = await openRecovery({ report: () => {} })
const closing: RunningPayments[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((payments) => payments.close()))
})

/** The real handshake over real payments; another one over the same log is the same service after a restart. */
function start(change: Partial<PaymentsOptions> = {}, log = createMemoryLog()) {
  const store = openMemoryStore({ now: () => NOW_S * 1_000, log })
  let ids = log.rows.length
  const payments = createPayments({
    store,
    index: createIndexInMemory(store),
    chain: RICH_CHAIN,
    payTo: PAY_TO,
    offersGateway: true,
    taking: ['direct', 'gateway'],
    caps: { payer: 1_000_000n, total: 50_000_000n },
    recovery,
    newId: () => `0190a000-0000-7000-8000-${String(++ids).padStart(12, '0')}`,
    now: () => NOW_S * 1_000,
    sleep,
    onClaimed: () => {},
    report: () => {},
    ...change,
  })
  closing.push(payments)
  const handshake = createPaidHandshake({ payments, publicUrl: () => 'https://x.example', clock: () => 0 })
  let computed = 0
  async function pay(header: string, work: Partial<PaidWork> = {}): Promise<string> {
    const presented = payments.read(['PAYMENT-SIGNATURE', header])
    if (presented === undefined) throw new Error('not read')
    const usual: PaidWork = {
      product: 'get_trade_call',
      price: 20_000n,
      requestHash: () => 'a'.repeat(64),
      compute: async () => ({ serial: ++computed }),
      accountId: null,
      mustSettleFirst: false,
      address: '192.0.2.1',
      requestId: 'r',
      signal: () => new AbortController().signal,
    }
    return handshake.pay(presented, { ...usual, ...work }).then(
      ({ answer, isReplay }) => `${isReplay ? 'again ' : ''}${JSON.stringify(answer)}`,
      (error: unknown) => (isServiceError(error) ? error.code : 'not told'),
    )
  }
  return { pay, log, computed: () => computed }
}

async function signed(
  payerNo: number,
  nonce: number,
  change: Parameters<typeof anAuthorization>[1] = {},
): Promise<string> {
  const payer = payerNumber(payerNo)
  const authorization = anAuthorization(payer, { nonce: nonceNumber(nonce), ...change })
  return encoded(paymentV2(authorization, await signAuthorization(payer, authorization)))
}
const week = { rail: 'gateway', validBefore: BigInt(NOW_S + LIMITS.gatewayValidityS) } as const

test('payments at the gateway of a key that owns nothing neither compute anything nor stop anybody', async () => {
  const asked: (() => void)[] = []
  /** The gateway takes its time, and refuses. */
  const gateway = {
    verify: (): Promise<FacilitatorOpinion> =>
      new Promise((resolve) => {
        asked.push(() => resolve({ kind: 'refused', reason: 'insufficient_funds' }))
      }),
  }
  const service = start({ gateway })
  const all = Promise.all(
    Array.from({ length: LIMITS.paymentsAtOnce }, async (_, n) =>
      service.pay(await signed(5, n + 1, week), { address: `192.0.2.${n % 200}` }),
    ),
  )
  while (asked.length < LIMITS.paymentsAtOncePerPayer) await sleep(1, new AbortController().signal)
  expect(await service.pay(await signed(6, 1))).toBe('{"serial":1}')
  for (const answer of asked) answer()
  const outcomes = new Set(await all)
  expect(outcomes).toEqual(new Set(['payments_unavailable', 'payment_refused']))
  expect(service.log.rows).toHaveLength(1)
}, 20_000)

test('what was claimed is answered, whatever has become of price, recipient and validity since', async () => {
  const { pay, log } = start()
  const paid = await signed(7, 1)
  expect(await pay(paid)).toBe('{"serial":1}')
  const later = {
    now: () => (NOW_S + 86_400) * 1_000,
    payTo: `0x${'33'.repeat(20)}`,
    taking: [],
  } as const
  for (const change of [later, { ...later, payTo: undefined }]) {
    const after = start(change, log)
    expect(await after.pay(paid, { price: 30_000n })).toBe('again {"serial":1}')
    expect(await after.pay(paid, { requestHash: () => 'b'.repeat(64) })).toBe('payment_mismatch')
    expect(await after.pay(await signed(7, 2), { price: 30_000n })).not.toContain('serial')
  }
})

test('a claim is not answered to who presents its nonce with another signature', async () => {
  const { pay, log } = start()
  await pay(await signed(7, 1))
  expect(await pay(await signed(7, 1, { value: 1n }))).toBe('payment_refused')
  const stolen = JSON.parse(Buffer.from(await signed(8, 1), 'base64').toString()) as {
    payload: { authorization: { from: string } }
  }
  stolen.payload.authorization.from = payerNumber(7).address.toLowerCase()
  expect(await pay(encoded(stolen))).toBe('payment_refused')
  expect(log.rows).toHaveLength(1)
})

import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createMemoryLog } from '../../../testing/memory-store/memory-store.ts'
import type { PaymentsOptions } from '../../payments/create-payments.ts'
import type { FacilitatorOpinion } from '../../payments/settlement/facilitator.ts'
import {
  closePayments,
  paymentsInMemory,
  signedHeader,
  WEEK,
} from '../../payments/testing/payments-in-memory.fixture.ts'
import { RICH_CHAIN } from '../../payments/testing/rich-chain.ts'
import { encoded, NOW_S, payerNumber } from '../../payments/testing/sign-payment.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { createPaidHandshake, type PaidWork } from './handshake.ts'

afterEach(closePayments)

/** The real handshake over real payments; another one over the same log is the same service after a restart. */
function start(change: Partial<PaymentsOptions> = {}, log = createMemoryLog()) {
  const world = paymentsInMemory(change, log)
  const { payments } = world
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
  return { pay, log, world, computed: () => computed }
}

test('payments at the gateway of a key that owns nothing neither compute anything nor stop anybody', async () => {
  const asked: (() => void)[] = []
  /** The gateway takes its time, and refuses. */
  const gateway = {
    verify: (): Promise<FacilitatorOpinion> =>
      new Promise((resolve) => {
        asked.push(() =>
          resolve({ kind: 'refused', reason: 'insufficient_funds', code: 'insufficient_funds' }),
        )
      }),
  }
  const service = start({ gateway })
  const all = Promise.all(
    Array.from({ length: LIMITS.paymentsAtOnce }, async (_, n) =>
      service.pay(await signedHeader(5, n + 1, WEEK), { address: `192.0.2.${n % 200}` }),
    ),
  )
  while (asked.length < LIMITS.paymentsAtOncePerPayer) await sleep(1, new AbortController().signal)
  expect(await service.pay(await signedHeader(6, 1))).toBe('{"serial":1}')
  for (const answer of asked) answer()
  const outcomes = new Set(await all)
  expect(outcomes).toEqual(new Set(['payments_unavailable', 'payment_refused']))
  expect(service.log.rows).toHaveLength(1)
}, 20_000)

test('what was claimed is answered, whatever has become of price, recipient and validity since', async () => {
  const { pay, log } = start()
  const paid = await signedHeader(7, 1)
  expect(await pay(paid)).toBe('{"serial":1}')
  const later = {
    now: () => (NOW_S + 86_400) * 1_000,
    elapsed: () => (NOW_S + 86_400) * 1_000,
    payTo: `0x${'33'.repeat(20)}`,
    taking: [],
  } as const
  for (const change of [later, { ...later, payTo: undefined }]) {
    const after = start(change, log)
    expect(await after.pay(paid, { price: 30_000n })).toBe('again {"serial":1}')
    expect(await after.pay(paid, { requestHash: () => 'b'.repeat(64) })).toBe('payment_mismatch')
    expect(await after.pay(await signedHeader(7, 2), { price: 30_000n })).not.toContain('serial')
  }
})

test('a claim is not answered to who presents its nonce with another signature', async () => {
  const { pay, log } = start()
  await pay(await signedHeader(7, 1))
  expect(await pay(await signedHeader(7, 1, { value: 1n }))).toBe('payment_refused')
  const stolen = JSON.parse(Buffer.from(await signedHeader(8, 1), 'base64').toString()) as {
    payload: { authorization: { from: string } }
  }
  stolen.payload.authorization.from = payerNumber(7).address.toLowerCase()
  expect(await pay(encoded(stolen))).toBe('payment_refused')
  expect(log.rows).toHaveLength(1)
})

const poor = { ...RICH_CHAIN, payerStatus: async () => ({ balance: 0n, isNonceUsed: false, hasCode: false }) }
const failing = () => {
  throw new ServiceError('invalid_request')
}
const crowded = { wait: LIMITS.claimsWaitingPerPayer }

test.each<[string, string, Partial<PaymentsOptions> & { wait?: number }, Partial<PaidWork>]>([
  ['of a rail that nobody settles', 'payments_unavailable', { taking: [] }, {}],
  ['of too little', 'payment_refused', {}, { price: 30_000n }],
  ['of a payer without money', 'payment_refused', { chain: poor }, {}],
  ['of a payer with as many as may wait', 'payments_unavailable', crowded, { mustSettleFirst: true }],
  ['for a request that is none', 'invalid_request', {}, { requestHash: failing }],
  ['for an answer that fails', 'invalid_request', {}, { compute: failing }],
  ['while the read model is away', 'payments_unavailable', { index: undefined }, {}],
])('a payment %s is refused, writes nothing and uses nothing up', async (_, code, change, work) => {
  const { wait = 0, ...options } = change
  const refusing = start(options)
  for (let n = 1; n <= wait; n++) {
    const presented = refusing.world.payments.read(['PAYMENT-SIGNATURE', await signedHeader(7, n)])
    const payment = await refusing.world.payments.verify(presented ?? expect.fail('not read'), 20_000n)
    const claim = { product: 'get_trade_call', requestHash: 'a'.repeat(64), answer: '{}' } as const
    await refusing.world.payments.claim(payment, {
      ...claim,
      accountId: null,
      mustSettleFirst: true,
      requestId: 'r',
    })
  }
  const paid = await signedHeader(7, 99)
  for (let n = 0; n < 3; n++) expect(await refusing.pay(paid, work)).toBe(code)
  expect(refusing.log.rows).toHaveLength(wait)
  expect(await start({}, refusing.log).pay(paid)).toBe('{"serial":1}')
})

describe('a claim that waits for its money, whose caller has gone', () => {
  const gone = () => AbortSignal.abort()
  const types = ({ log }: ReturnType<typeof start>) => log.rows.map(({ type }) => type)

  test('is let go, and its payer is told that nothing was charged', async () => {
    const service = start()
    const paid = await signedHeader(5, 1, WEEK)
    expect(await service.pay(paid, { signal: gone })).toBe('payment_pending')
    expect(types(service)).toEqual(['PaymentClaimed', 'PaymentUncollectable'])
    expect(await service.pay(paid)).toBe('payment_refused')
  })

  test('is settled where something may have been sent, or where its answer has left', async () => {
    const service = start({ elapsed: () => 0 })
    const paid = await signedHeader(5, 1, WEEK)
    const waits = new AbortController()
    const waiting = service.pay(paid, { signal: () => waits.signal })
    while (service.log.rows.length === 0) await setImmediate()
    const [{ stream, data }] = service.log.rows as [(typeof service.log.rows)[0]]
    const { paymentId } = JSON.parse(data) as { paymentId: string }
    await service.world.settle({ stream, paymentId }, 'SettlementRequested', {
      attempt: 1,
      settler: 'gateway',
    })
    waits.abort()
    expect(await waiting).toBe('payment_pending')
    await service.pay(await signedHeader(6, 1), { signal: gone })
    expect(types(service)).toEqual(['PaymentClaimed', 'SettlementRequested', 'PaymentClaimed'])
  })

  test('is counted for its address as one that was refused', async () => {
    const service = start()
    for (let n = 1; n <= LIMITS.paymentsRefusedPerAddress; n++)
      await service.pay(await signedHeader(n, n, WEEK), { signal: gone })
    expect(await service.pay(await signedHeader(99, 99))).toBe('rate_limited')
  })
})

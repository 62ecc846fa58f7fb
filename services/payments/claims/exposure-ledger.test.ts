import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RAILS } from '../../../contracts/events/payment-events.ts'
import { JUST_CLAIMED, type Payment } from '../payment.ts'
import type { PaymentIndex } from '../payment-index.ts'
import { createExposureLedger, type Reserved } from './exposure-ledger.ts'

interface Claimed extends Reserved {
  readonly reservation: ReturnType<ReturnType<typeof createExposureLedger>['reserve']>
  position?: number
}

const reserved = fc.record({
  payer: fc.constantFrom('0xa', '0xb'),
  rail: fc.constantFrom(...RAILS),
  value: fc.bigInt({ min: 1n, max: 5n }),
  isServedFirst: fc.boolean(),
})
const step = fc.oneof(
  fc.record({ kind: fc.constant('reserve' as const), reserved }),
  fc.record({ kind: fc.constantFrom('land' as const, 'release' as const), which: fc.nat(20) }),
  fc.record({ kind: fc.constant('fold' as const) }),
)

test('counts each claim from when it is reserved until the read model has it, or it is released', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const nobody = { payer: () => undefined, total: () => undefined }
      const at = { appended: 0, folded: 0 }
      const index = { ...nobody, position: () => String(at.folded) } as unknown as PaymentIndex
      const ledger = createExposureLedger(index)
      let claims: Claimed[] = []
      for (const one of steps) {
        if (one.kind === 'reserve')
          claims.push({ ...one.reserved, reservation: ledger.reserve(one.reserved) })
        else if (one.kind === 'fold') {
          at.folded = at.appended
          claims = claims.filter(({ position }) => position === undefined)
        } else {
          const claim = claims[one.which]
          if (claim === undefined || claim.position !== undefined) continue
          if (one.kind === 'release') {
            claim.reservation.release()
            claim.reservation.release()
            claims.splice(one.which, 1)
          } else {
            claim.position = ++at.appended
            claim.reservation.landed(JUST_CLAIMED as unknown as Payment, String(at.appended))
          }
        }
        for (const payer of ['0xa', '0xb']) for (const rail of RAILS) expectSums(ledger, claims, payer, rail)
      }
    }),
  )
})

test('forgets a claim that the read model had before its append was answered', () => {
  const index = { payer: () => undefined, total: () => undefined, position: () => '5' }
  const ledger = createExposureLedger(index as unknown as PaymentIndex)
  const reservation = ledger.reserve({ payer: '0xa', rail: 'direct', value: 2n, isServedFirst: true })
  expect(ledger.of('0xa', 'direct').payer).toBe(2n)
  reservation.landed(JUST_CLAIMED as unknown as Payment, '5')
  expect(ledger.of('0xa', 'direct').payer).toBe(0n)
})

function expectSums(
  ledger: ReturnType<typeof createExposureLedger>,
  claims: readonly Claimed[],
  payer: string,
  rail: Claimed['rail'],
): void {
  const sum = (counts: (claim: Claimed) => boolean) =>
    claims.filter(counts).reduce((all, { value }) => all + value, 0n)
  const isOwn = (claim: Claimed) => claim.payer === payer
  const waits = (claim: Claimed) => !claim.isServedFirst && claim.rail === rail
  expect(ledger.of(payer, rail)).toMatchObject({
    payer: sum((claim) => isOwn(claim) && claim.isServedFirst),
    awaited: sum((claim) => isOwn(claim) && claim.rail === 'direct'),
    total: sum(({ isServedFirst }) => isServedFirst),
    waiting: claims.filter((claim) => isOwn(claim) && waits(claim)).length,
    waitingOfAll: claims.filter(waits).length,
  })
}

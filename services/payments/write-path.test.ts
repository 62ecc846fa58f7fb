import { BASE } from '../../contracts/domain/chain.ts'
import type { RecordedEvent } from '../../contracts/infra/event.ts'
import { paymentFact, paymentIdOf } from '../../projections/given-events.fixture.ts'
import type { FaultyWorld } from '../../testing/event-store/faulty-store.fixture.ts'
import type { EventStore } from '../log/event-store.ts'
import { describeWritePath } from '../log/write-path.contract.ts'
import { createPaymentAdmin } from './admin/payment-admin.ts'
import { createPaymentLog } from './payment.ts'
import type { PaymentIndex } from './payment-index.ts'

const ORIGIN = { correlationId: 'request', actor: 'test' }
const paymentId = paymentIdOf(1)
const { stream: STREAM, event: CLAIM } = paymentFact('PaymentClaimed', { paymentId })

const partsOf = (world: FaultyWorld, store: EventStore) => ({ ...world, store, signal: world.ending.signal })

async function countOf(world: FaultyWorld, stream: string, isOurs: (event: RecordedEvent) => boolean) {
  let count = 0
  for await (const event of world.others.read(stream)) if (isOurs(event)) count += 1
  return count
}

describeWritePath('a claim of a payment', { isBounded: true, onConflict: 'yields' }, async (world) => {
  const claimOver = (store: EventStore, event: typeof CLAIM) =>
    createPaymentLog(partsOf(world, store)).claim(STREAM, event)
  return {
    write: () => claimOver(world.store, CLAIM),
    recorded: () => countOf(world, STREAM, ({ id }) => id === CLAIM.id),
    interfere: () => claimOver(world.others, { ...CLAIM, id: world.newId() }),
  }
})

describeWritePath('a settlement', { isBounded: true, onConflict: 'yields' }, async (world) => {
  await world.others.append(STREAM, [CLAIM], { expected: 'no-stream' })
  const record = async (store: EventStore, settler: 'gateway' | 'facilitator') => {
    const log = createPaymentLog(partsOf(world, store))
    const loaded = await log.load(STREAM)
    if (loaded === undefined || loaded.revision > 0) return
    await log.append(loaded, [{ type: 'SettlementRequested', data: { attempt: 1, settler } }], 'settler')
  }
  let theirs = 0
  return {
    write: () => record(world.store, 'gateway'),
    recorded: async () =>
      (await countOf(world, STREAM, ({ type }) => type === 'SettlementRequested')) - theirs,
    async interfere() {
      await record(world.others, 'facilitator')
      theirs = 1
    },
  }
})

describeWritePath('a refund by hand', { isBounded: true, onConflict: 'decides anew' }, async (world) => {
  const place = { transaction: `0x${'7a'.repeat(32)}`, blockNumber: 7 }
  const settled = [
    paymentFact('SettlementConfirmed', {
      paymentId,
      ...place,
      blockHash: `0x${'7b'.repeat(32)}`,
      by: 'facilitator',
    }).event,
    paymentFact('SettlementFinalised', { paymentId, ...place }).event,
  ].map((event) => ({ ...event, id: world.newId() }))
  await world.others.append(STREAM, [CLAIM, ...settled], { expected: 'no-stream' })
  const [ours, theirs] = [`0x${'e1'.repeat(32)}`, `0x${'e2'.repeat(32)}`]
  const refund = (store: EventStore, transaction: string) => {
    const index = { payment: () => ({ stream: STREAM }) } as unknown as PaymentIndex
    const admin = createPaymentAdmin({ on: BASE, ...partsOf(world, store), index })
    return admin.refund(paymentId, { transaction, value: 5_000n, reason: 'a test' }, ORIGIN)
  }
  return {
    write: () => refund(world.store, ours),
    recorded: () => countOf(world, STREAM, ({ data }) => data['transaction'] === ours),
    interfere: () => refund(world.others, theirs),
  }
})

import { BASE } from '../../contracts/chain.ts'
import { payerStream } from '../../contracts/streams.ts'
import { paymentFact } from '../../projections/given-events.fixture.ts'
import type { FaultyWorld } from '../../testing/event-store/faulty-store.fixture.ts'
import type { EventStore } from '../log/event-store.ts'
import { describeWritePath } from '../log/write-path.contract.ts'
import { createPaymentAdmin } from './admin/payment-admin.ts'
import { createPaymentLog } from './claims/payment-log.ts'
import { createSettlementLog } from './settlement/settlement-log.ts'

const PAYER = `0x${'ab'.repeat(20)}`
const ORIGIN = { correlationId: 'request', actor: 'test' }
const { stream: STREAM, event: CLAIM } = paymentFact('PaymentClaimed', {})

const partsOf = (world: FaultyWorld, store: EventStore) => ({ ...world, store, signal: world.ending.signal })

async function countOf(
  world: FaultyWorld,
  stream: string,
  isOurs: (event: { id: string; type: string }) => boolean,
) {
  let count = 0
  for await (const event of world.others.read(stream)) if (isOurs(event)) count += 1
  return count
}

describeWritePath('a claim of a payment', { isBounded: true, onConflict: 'yields' }, async (world) => {
  const claimOver = (store: EventStore, event: typeof CLAIM) =>
    createPaymentLog(partsOf(world, store)).append(STREAM, [event], 'no-stream')
  return {
    write: () => claimOver(world.store, CLAIM),
    recorded: () => countOf(world, STREAM, ({ id }) => id === CLAIM.id),
    interfere: () => claimOver(world.others, { ...CLAIM, id: world.newId() }),
  }
})

describeWritePath('a settlement', { isBounded: true, onConflict: 'yields' }, async (world) => {
  await world.others.append(STREAM, [CLAIM], { expected: 'no-stream' })
  const { signal } = world.ending
  const record = async (store: EventStore, settler: 'own' | 'facilitator') => {
    const log = createSettlementLog(partsOf(world, store))
    const loaded = await log.load(STREAM, signal)
    if (loaded === undefined || loaded.revision > 0) return
    await log.record(loaded, [{ type: 'SettlementRequested', data: { attempt: 1, settler } }], signal)
  }
  let theirs = 0
  return {
    write: () => record(world.store, 'own'),
    recorded: async () =>
      (await countOf(world, STREAM, ({ type }) => type === 'SettlementRequested')) - theirs,
    async interfere() {
      await record(world.others, 'facilitator')
      theirs = 1
    },
  }
})

describeWritePath(
  'what the operator says of a payer',
  { isBounded: true, onConflict: 'decides anew' },
  async (world) => {
    const adminOver = (store: EventStore) =>
      createPaymentAdmin({ on: BASE, ...partsOf(world, store), index: undefined })
    const admin = adminOver(world.store)
    return {
      write: () => admin.block(PAYER, 'a test', ORIGIN),
      recorded: () => countOf(world, payerStream(BASE.id, PAYER), ({ type }) => type === 'PayerBlocked'),
      interfere: () => adminOver(world.others).unblock(PAYER, 'a test', ORIGIN),
    }
  },
)

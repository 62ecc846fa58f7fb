import { randomBytes } from 'node:crypto'
import { decodeEvent } from '../../contracts/events/event-catalogue.ts'
import { accountStream, quotaStream, subjectStream } from '../../contracts/events/streams.ts'
import type { FaultyWorld } from '../../testing/event-store/faulty-store.fixture.ts'
import type { EventStore } from '../log/event-store.ts'
import { describeWritePath } from '../log/write-path.contract.ts'
import { createFactIds } from '../runtime/ids/fact-id.ts'
import { createAccountLog } from './account-log.ts'
import { createQuotaLedger } from './quota/quota-ledger.ts'
import { aDebit, PAYER, sha256 } from './quota/testing/ledger.fixture.ts'
import { createSubjectKeys } from './subject-keys.ts'

const ACCOUNT = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const ORIGIN = { correlationId: 'request', actor: 'test' }
const decidesAnew = { isBounded: true, onConflict: 'decides anew' } as const
const yields = { isBounded: true, onConflict: 'yields' } as const

const partsOf = (world: FaultyWorld, store: EventStore) => ({ ...world, store, signal: world.ending.signal })

async function countOf(world: FaultyWorld, stream: string, type: string): Promise<number> {
  let count = 0
  for await (const event of world.others.read(stream)) if (event.type === type) count += 1
  return count
}

describeWritePath('the log of accounts', decidesAnew, async (world) => {
  const logOver = (store: EventStore) =>
    createAccountLog({ ...partsOf(world, store), onChange: () => undefined })
  const log = logOver(world.store)
  const ask = {
    kind: 'RequestSignIn',
    requestId: world.newId(),
    codeHash: sha256('code'),
  } as const
  return {
    write: () => log.execute(ACCOUNT, ORIGIN, () => [{ kind: 'Open', sealedEmail: null }]),
    recorded: () => countOf(world, accountStream(ACCOUNT), 'AccountOpened'),
    interfere: () => logOver(world.others).execute(ACCOUNT, ORIGIN, () => [{ ...ask, now: world.now() }]),
  }
})

describeWritePath('the keys of subjects', yields, async (world) => {
  const subject = { accountId: ACCOUNT, generation: 0 }
  const keysOver = (store: EventStore) =>
    createSubjectKeys({
      ...partsOf(world, store),
      wrapping: { known: [new Uint8Array(32)], used: 0 },
      random: randomBytes,
    })
  const keys = keysOver(world.store)
  let theirs = 0
  return {
    write: () => keys.seal(subject, 'a test', 'text', ORIGIN),
    // Whoever is first makes the one key.
    recorded: async () => (await countOf(world, subjectStream(ACCOUNT, 0), 'SubjectKeyCreated')) - theirs,
    async interfere() {
      await keysOver(world.others).seal(subject, 'a test', 'text', ORIGIN)
      theirs = 1
    },
  }
})

describeWritePath('the ledger of calls', decidesAnew, async (world) => {
  const stream = quotaStream(PAYER.id, PAYER.window.id)
  const ledgerOver = (store: EventStore) =>
    createQuotaLedger({
      ...partsOf(world, store),
      index: { find: () => undefined, position: () => '999999' },
      idOf: createFactIds(Buffer.from('secret')),
    })
  const ledger = ledgerOver(world.store)
  return {
    write: () => ledger.debit(PAYER, aDebit('ours', { key: 'k' }), PAYER.window.from),
    async recorded() {
      let count = 0
      for await (const recorded of world.others.read(stream)) {
        const event = decodeEvent(recorded)
        if (event.type === 'QuotaDebited' && event.data.idempotencyHash !== null) count += 1
      }
      return count
    },
    interfere: () => ledgerOver(world.others).debit(PAYER, aDebit('theirs'), PAYER.window.from),
  }
})

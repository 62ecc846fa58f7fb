import { chatStream } from '../../contracts/events/streams.ts'
import type { EventStore } from '../log/event-store.ts'
import { describeWritePath } from '../log/write-path.contract.ts'
import { createFactIds } from '../runtime/ids/fact-id.ts'
import { ChatLedger } from './chats.ts'
import { aChat, CHATTER, NOON } from './testing/chats.fixture.ts'

describeWritePath('the ledger of chats', { isBounded: true, onConflict: 'decides anew' }, async (world) => {
  const ledgerOver = (store: EventStore) =>
    new ChatLedger({
      ...world,
      store,
      signal: world.ending.signal,
      index: { find: () => undefined, position: () => '999999' },
      idOf: createFactIds(Buffer.from('secret')),
    })
  const ledger = ledgerOver(world.store)
  return {
    write: () => ledger.count(CHATTER, aChat('ours', { key: 'k' }), NOON),
    async recorded() {
      let count = 0
      for await (const { data } of world.others.read(chatStream(CHATTER.id, CHATTER.window.id)))
        if (data['idempotencyHash'] !== null) count += 1
      return count
    },
    interfere: () => ledgerOver(world.others).count(CHATTER, aChat('theirs'), NOON),
  }
})

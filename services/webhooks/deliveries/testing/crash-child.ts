import { writeOut } from '../../../../testing/servers/write-out.ts'
import { openEmbeddedStore } from '../../../log/embedded/embedded-store.ts'
import { sleep } from '../../../runtime/async/sleep.ts'
import { createFactIds } from '../../../runtime/ids/fact-id.ts'
import { uuidV7 } from '../../../runtime/ids/uuid.ts'
import { matchRange } from '../../signals/testing/match-range.fixture.ts'
import { aFilter, anId } from '../../signals/testing/signal-log.fixture.ts'
import { openDeliveryLogs } from '../delivery-log.ts'
import { wasAttempted } from '../delivery-state.ts'
import { prepareDelivery } from '../prepare-delivery.ts'
import { anAttempt, BASE_URL } from './delivery-world.fixture.ts'

/**
 * A process that a test kills: works off what one subscription is still to get, several deliveries at a time,
 * and writes a line to standard output for each whose attempt was recorded. Every third one fails.
 */
const [directory = '', token = '0'] = process.argv.slice(2)
const AT_ONCE = 8

const store = await openEmbeddedStore({ directory, now: Date.now })
const idOf = createFactIds(Buffer.from('secret'))
const subscription = {
  subscriptionId: anId(1),
  startAfter: 'start',
  moved: null,
  filters: [{ after: 'start', filter: aFilter({ events: ['trade_call'] }) }],
}
const log = openDeliveryLogs({
  store,
  newId: () => uuidV7(Date.now(), crypto.getRandomValues(new Uint8Array(10))),
  now: Date.now,
  sleep,
  signal: new AbortController().signal,
})
const journal = await log.take(subscription, Number(token), `process ${token}`)
const signals = matchRange({ store }, subscription, journal.state.cursor, await store.head())

async function worker(): Promise<void> {
  for (;;) {
    const next = await signals.next()
    if (next.done === true) return
    const delivery = prepareDelivery(next.value, { idOf, baseUrl: BASE_URL })
    const { sequence } = delivery
    if (wasAttempted(journal.state, sequence)) continue
    const result = sequence % 3 === 0 ? 'failed' : 'delivered'
    await journal.record(anAttempt(delivery, { result }))
    writeOut(`${sequence} ${result}\n`)
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, worker))
writeOut('done\n')
await store.close()

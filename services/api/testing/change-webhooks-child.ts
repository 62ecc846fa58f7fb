import { writeSync } from 'node:fs'
import { openEmbeddedStore } from '../../platform/event-store/embedded/embedded-store.ts'
import { aWebhookEdge } from './webhook-edge.fixture.ts'

/**
 * A process that a test kills: creates and deletes subscriptions of one account, several at a time, and writes a line
 * to standard output for each answer.
 */
const [directory = ''] = process.argv.slice(2)
const CALLERS = 4
const ROUNDS = 10_000

const edge = await aWebhookEdge({
  store: await openEmbeddedStore({ directory, now: Date.now }),
  now: Date.now(),
})

async function caller(): Promise<void> {
  for (let n = 0; n < ROUNDS; n++) {
    const created = await edge.create()
    // There is room for five, and each of the four has one at most; what a killed process left takes the rest.
    if (created.status !== 201) continue
    writeSync(1, `created ${created.body.id}\n`)
    if (n % 3 === 0) continue
    const { status } = await edge.ask('DELETE', `/api/webhooks/${created.body.id}`)
    if (status === 204) writeSync(1, `deleted ${created.body.id}\n`)
  }
}
await Promise.all(Array.from({ length: CALLERS }, caller))

import { writeOut } from '../../../testing/servers/write-out.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { aWebhookEdge } from './webhook-edge.fixture.ts'

/**
 * A process that a test kills: creates and deletes subscriptions of one account, four at a time, which with the one that
 * stays is as many as there may be, and writes a line to standard output for each answer.
 */
const [directory = ''] = process.argv.slice(2)
const CALLERS = 4
const ROUNDS = 10_000

const edge = await aWebhookEdge({
  store: await openEmbeddedStore({ directory, now: Date.now }),
  now: Date.now(),
})

async function caller(index: number): Promise<void> {
  for (let n = 0; n < ROUNDS; n++) {
    const created = await edge.create()
    if (created.status !== 201) throw new Error(JSON.stringify(created.body))
    writeOut(`created ${created.body.id}\n`)
    // One stays, so that there is something to be found afterwards.
    if (index === 0 && n === 0) continue
    const { status } = await edge.ask('DELETE', `/api/webhooks/${created.body.id}`)
    if (status === 204) writeOut(`deleted ${created.body.id}\n`)
  }
}
await Promise.all(Array.from({ length: CALLERS }, (_, index) => caller(index)))

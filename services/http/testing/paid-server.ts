/**
 * A process that tests start, and kill: the paid routes over an embedded store, around tools that answer a new serial
 * number each time. Imported by nobody; its one argument is the folder of the store.
 */

import { randomUUID } from 'node:crypto'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { startPaidService } from './paid-service.fixture.ts'

/** A tool handler takes a moment, so that a kill finds calls at every point of their way. */
const LONGEST_COMPUTATION_MS = 4

const cap = 10n ** 12n
const never = new AbortController().signal
const { url } = await startPaidService({
  store: await openEmbeddedStore({ directory: process.argv[2] ?? '', now: Date.now }),
  caps: { payer: cap, total: cap },
  async answer() {
    await sleep(Math.random() * LONGEST_COMPUTATION_MS, never)
    return { serial: randomUUID() }
  },
})
process.stdout.write(`${url}\n`)

import { openEmbeddedStore } from '../services/log/embedded/embedded-store.ts'
import { uuidV7 } from '../services/runtime/ids/uuid.ts'
import { writeOut } from './servers/write-out.ts'

/**
 * A process that a test kills: appends pairs of events from many callers, and writes a line to standard
 * output for each append that was acknowledged.
 */
const [directory = '', run = '0'] = process.argv.slice(2)
const CALLERS = 32
const APPENDS_PER_CALLER = 100_000

const store = await openEmbeddedStore({ directory, now: Date.now })
writeOut('ready\n')

async function caller(index: number): Promise<void> {
  const stream = `s-run${run}.${index}`
  for (let n = 0; n < APPENDS_PER_CALLER; n++) {
    const pair = ['first', 'second'].map((half) => ({
      id: uuidV7(Date.now(), crypto.getRandomValues(new Uint8Array(10))),
      type: 'HalfHappened',
      schema: 1,
      data: { half, n },
      meta: { correlationId: `${stream}.${n}`, actor: 'crash' },
    }))
    const { revision } = await store.append(stream, pair, { expected: n === 0 ? 'no-stream' : n * 2 - 1 })
    writeOut(`${stream} ${revision} ${pair[1]?.id}\n`)
  }
}
await Promise.all(Array.from({ length: CALLERS }, (_, index) => caller(index)))

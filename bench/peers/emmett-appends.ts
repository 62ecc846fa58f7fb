import { randomBytes } from 'node:crypto'
import { uuidV7 } from '../../services/runtime/ids/uuid.ts'
import { sampleVerdict } from '../support/sample-events.ts'

/**
 * Appends verdict events with emmett-sqlite, one caller, each to a stream of its own, and prints how many it
 * did in how many milliseconds. A process of its own, because the peer throws where nobody can catch it when
 * two of its statements meet.
 *
 * node bench/peers/emmett-appends.ts FILE MILLISECONDS
 */
interface EmmettSqlite {
  getSQLiteEventStore(options: { fileName: string }): {
    appendToStream(
      stream: string,
      events: { type: string; data: unknown; metadata: unknown }[],
    ): Promise<unknown>
  }
}

const [fileName = '', milliseconds = '1000'] = process.argv.slice(2)
// Not a dependency of the service, so its types are not there either.
const name = '@event-driven-io/emmett-sqlite'
const emmett = (await import(name)) as EmmettSqlite
const store = emmett.getSQLiteEventStore({ fileName })
const { type, data, meta } = sampleVerdict(0, randomBytes, Date.now())

const run = uuidV7(Date.now(), randomBytes(10))
await store.appendToStream(`verdict-warm-up-${run}`, [{ type, data, metadata: meta }])
const start = performance.now()
let units = 0
while (performance.now() - start < Number(milliseconds)) {
  await store.appendToStream(`verdict-${units}-${run}`, [{ type, data, metadata: meta }])
  units += 1
}
process.stdout.write(JSON.stringify({ units, milliseconds: performance.now() - start }))

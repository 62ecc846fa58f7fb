import { DatabaseSync } from 'node:sqlite'
import { writeOut } from '../../../../testing/servers/write-out.ts'
import { openEmbeddedStore } from '../../embedded/embedded-store.ts'
import { startProjector } from '../projector.ts'
import { openRowTables } from '../row-tables.ts'
import { counter } from './counter.fixture.ts'

/**
 * A process that builds a version of a read model beside the one that answers, and ends itself, or stands still, where a
 * test says so.
 */
const [directory = '', version = '1', at = '', signal = 'SIGKILL'] = process.argv.slice(2)

const tables = openRowTables(`${directory}/projections.db`, 'log-1')
const end = (): void => void process.kill(process.pid, signal)
let commits = 0
let isSwapping = false

const { exec } = DatabaseSync.prototype as { exec: (this: DatabaseSync, sql: string) => void }
DatabaseSync.prototype.exec = function (sql: string): void {
  if (isSwapping && at === 'in the transaction' && sql === 'COMMIT') end()
  exec.call(this, sql)
  if (isSwapping && at === 'before the old rows go' && sql === 'COMMIT') end()
}

const store = await openEmbeddedStore({ directory, now: Date.now })
const projector = startProjector({
  store,
  tables: {
    ...tables,
    table(name, ofVersion) {
      const table = tables.table(name, ofVersion)
      return {
        ...table,
        commit(...commit) {
          table.commit(...commit)
          commits += 1
          if (at === 'while it is built' && commits === 1) end()
        },
      }
    },
    activate(name, ofVersion) {
      if (at === 'before the swap') end()
      isSwapping = true
      tables.activate(name, ofVersion)
      isSwapping = false
      if (at === 'after the swap') end()
    },
  },
  projections: [counter(Number(version))],
  sleep: async () => undefined,
})
await projector.caughtUp()
writeOut('built\n')
await projector.close()
await store.close()

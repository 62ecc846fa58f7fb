import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedStore } from '../../services/log/embedded/embedded-store.ts'
import type { EventStore } from '../../services/log/event-store.ts'

/** A folder that a benchmark has for itself, in BENCH_DIR where that is said. */
export interface Scratch {
  readonly directory: string
  /** An embedded log in the folder. */
  readonly store: EventStore
  /** Closes the log and removes all. */
  close(): Promise<void>
}

export async function openScratch(name: string): Promise<Scratch> {
  const directory = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), `bench-${name}-`))
  const store = await openEmbeddedStore({ directory, now: Date.now })
  return {
    directory,
    store,
    async close() {
      await store.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

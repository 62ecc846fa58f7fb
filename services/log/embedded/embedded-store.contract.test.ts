import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { describeEventStoreContract, type FaultPoint } from '../event-store.contract.ts'
import { openEmbeddedStore } from './embedded-store.ts'
import { startWriter, type Writer, type WriterOptions } from './writer.ts'

/** A writer whose next commit can be lost on its way there or on its way back. */
function faultyWriter(): { start: (options: WriterOptions) => Promise<Writer>; faults: FaultPoint[] } {
  let armed: 'before' | 'after' | undefined
  const lose = (): ServiceError => {
    armed = undefined
    return new ServiceError('append_unknown', { message: 'lost by the test' })
  }
  const start = async (options: WriterOptions): Promise<Writer> => {
    const writer = await startWriter(options)
    return {
      async commit(batch, at) {
        if (armed === 'before') throw lose()
        const outcomes = await writer.commit(batch, at)
        if (armed === 'after') throw lose()
        return outcomes
      },
      late: () => undefined,
      erase: (stream) => writer.erase(stream),
      close: () => writer.close(),
    }
  }
  const faults = (['before', 'after'] as const).map((point) => ({
    name: `answer lost ${point} the commit`,
    arm() {
      armed = point
    },
  }))
  return { start, faults }
}

describeEventStoreContract('embedded', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'store-'))
  const { start, faults } = faultyWriter()
  const open = () => openEmbeddedStore({ directory, now: Date.now, writer: start })
  let store = await open()
  return {
    store,
    async restart() {
      await store.close()
      store = await open()
      return store
    },
    faults,
    async close() {
      await store.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
})

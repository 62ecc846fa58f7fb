import type { Writer } from './writer.ts'

/**
 * A writer that outlives its thread: where the thread has ended by itself, the next commit starts another.
 * What was under way is rejected as unknown by the one that ended; repeating it is safe, because ids are
 * asked before anything is appended.
 */
export async function keepWriterRunning(start: () => Promise<Writer>): Promise<Writer> {
  let writer = await start()
  return {
    get hasEnded() {
      return writer.hasEnded
    },
    async commit(batch, at) {
      if (writer.hasEnded) writer = await start()
      return writer.commit(batch, at)
    },
    async erase(stream) {
      if (writer.hasEnded) writer = await start()
      return writer.erase(stream)
    },
    close: () => writer.close(),
  }
}

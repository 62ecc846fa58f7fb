import type { Writer } from './writer.ts'

/**
 * A writer that outlives its thread: after a thread ended, the next commit starts another. What was under way is
 * rejected as unknown.
 */
export async function keepWriterRunning(start: () => Promise<Writer>): Promise<Writer> {
  let writer = await start()
  let starting: Promise<Writer> | undefined

  /** One thread is started for all that find the last one ended: two would write to the same file. */
  async function running(): Promise<Writer> {
    starting ??= start().finally(() => {
      starting = undefined
    })
    writer = await starting
    return writer
  }

  return {
    get hasEnded() {
      return writer.hasEnded
    },
    get late() {
      return writer.late
    },
    commit: async (batch, at) => (writer.hasEnded ? await running() : writer).commit(batch, at),
    erase: async (stream) => (writer.hasEnded ? await running() : writer).erase(stream),
    async close() {
      // A writer that is being started would keep the process up; its caller learns of a failure.
      await starting?.catch(() => undefined)
      await writer.close()
    },
  }
}

import type { NewEvent } from '../../contracts/event.ts'

/** emmett-sqlite behind the one verb that the benchmark asks of it. */
export interface EmmettPeer {
  append(stream: string, event: NewEvent): Promise<void>
  close(): Promise<void>
}

interface EmmettSqlite {
  getSQLiteEventStore(options: { fileName: string }): {
    appendToStream(
      stream: string,
      events: { type: string; data: unknown; metadata: unknown }[],
    ): Promise<unknown>
  }
}

/**
 * Opens the peer, or answers undefined where it is not installed: it needs a native module, which
 * `npm ci --prefix bench/peers` builds, and the service itself does not.
 */
export async function openEmmett(fileName: string): Promise<EmmettPeer | undefined> {
  const name = '@event-driven-io/emmett-sqlite'
  let peer: EmmettSqlite
  try {
    peer = (await import(name)) as EmmettSqlite
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
  const store = peer.getSQLiteEventStore({ fileName })
  return {
    async append(stream, event) {
      await store.appendToStream(stream, [{ type: event.type, data: event.data, metadata: event.meta }])
    },
    close: async () => undefined,
  }
}

import { reasonOf } from '../../../contracts/errors/errors.ts'
import type { Component } from '../../http/routes/health.ts'
import type { StoreHealth } from '../../log/event-store.ts'
import { withTimeout } from '../../runtime/async/with-timeout.ts'

/** A part that can be asked how it is. */
type Adapter = { health(): Promise<StoreHealth> }

/** A probe waits a few seconds at most, so a part that does not answer in time has failed. */
const HEALTH_TIMEOUT_MS = 2_000

const SERVERS: Readonly<Record<string, string>> = { nats: 'NATS', redis: 'Redis' }

/** How store, bus and cache are, and the versions of what this process runs on. */
export async function adapterHealth(adapters: {
  readonly store: Adapter
  readonly bus: Adapter
  readonly cache: Adapter
}) {
  const asked = Object.entries(adapters).map(async ([name, adapter]: [string, Adapter]) => ({
    name,
    ...(await healthInTime(name, adapter)),
  }))
  const answers = await Promise.all(asked)
  const { node, sqlite = 'not known' } = process.versions
  const servers = answers.flatMap(({ adapter, version = 'not known', server = SERVERS[adapter] }) =>
    server === undefined ? [] : [[server, version] as const],
  )
  return {
    components: answers.map(
      ({ name, ok, late, adapter, detail }): Component => ({
        name,
        isRequired: name === 'store',
        state: !ok ? 'failed' : late === undefined ? 'ok' : 'degraded',
        detail: `${adapter}: ${detail}${late === undefined ? '' : `; ${late}`}`,
      }),
    ),
    head: answers[0]?.head,
    runsOn: { 'Node.js': node, SQLite: sqlite, ...Object.fromEntries(servers) } as Readonly<
      Record<string, string>
    >,
  }
}

async function healthInTime(name: string, adapter: Adapter): Promise<StoreHealth> {
  try {
    const silence = () => new Error(`no answer within ${HEALTH_TIMEOUT_MS} ms`)
    return await withTimeout(adapter.health(), HEALTH_TIMEOUT_MS, silence)
  } catch (error) {
    return { ok: false, adapter: name, detail: reasonOf(error) }
  }
}

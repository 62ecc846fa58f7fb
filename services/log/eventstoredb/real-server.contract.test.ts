import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from 'testcontainers'
import { afterAll, expect, test } from 'vitest'
import { isErasable, isStreamName } from '../../../contracts/events/streams.ts'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import { comparePositions, type Position, START } from '../../../contracts/infra/position.ts'
import { imagesOf } from '../../../testing/servers/server-lines.ts'
import { describeEventStoreContract } from '../event-store.contract.ts'
import type { EventFilter, EventStore, SubscriptionItem } from '../event-store.ts'
import { openEventStoreDbStore } from './eventstoredb-store.ts'

const IMAGES = [...imagesOf('KurrentDB'), ...imagesOf('EventStoreDB')]
const PORT = 2_113

/** A server to run against. */
interface RealServer {
  connectionString(): string
  restart(): Promise<void>
}

interface Candidate {
  readonly name: string
  readonly start: () => Promise<RealServer>
}

/** The servers: a given one, or a container of each supported line; or the reason why there is none. */
async function findServers(): Promise<{ candidates: Candidate[]; missing?: string }> {
  const url = process.env['EVENTSTORE_URL']
  // A given server is not ours to restart: reopening the store stands in for it.
  if (url !== undefined) {
    const start = async () => ({ connectionString: () => url, restart: async () => undefined })
    return { candidates: [{ name: 'the one of EVENTSTORE_URL', start }] }
  }
  try {
    await getContainerRuntimeClient()
    return { candidates: IMAGES.map((name) => ({ name, start: () => startContainer(name) })) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return {
      candidates: [],
      missing: `EVENTSTORE_URL is not set and there is no container engine: ${reason}`,
    }
  }
}

const containers: StartedTestContainer[] = []

async function startContainer(image: string): Promise<RealServer> {
  const started = await new GenericContainer(image)
    .withCommand(['--insecure', '--run-projections=None'])
    .withExposedPorts(PORT)
    .withWaitStrategy(Wait.forHttp('/health/live', PORT).forStatusCode(204))
    .start()
  containers.push(started)
  return {
    connectionString: () => `esdb://${started.getHost()}:${started.getMappedPort(PORT)}?tls=false`,
    restart: () => started.restart(),
  }
}

const { candidates, missing } = await findServers()
const run = crypto.randomUUID().slice(0, 8)
let harnesses = 0

afterAll(async () => {
  for (const container of containers) await container.stop()
})

/** One test that is left out stands for the whole contract, whatever it grows to: what skips is counted. */
test.skipIf(missing !== undefined)(
  `a real server${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => expect(candidates).not.toEqual([]),
)

for (const { name, start } of candidates) {
  let starting: Promise<RealServer> | undefined
  describeEventStoreContract(`a real server, ${name}`, async () => {
    starting ??= start()
    const server = await starting
    harnesses += 1
    const prefix = `t${run}.${harnesses}.`
    const open = () => openEventStoreDbStore({ connectionString: server.connectionString() })
    let real = open()
    const base = await real.head()
    const confined = () => confineStore(real, prefix, base)
    return {
      store: confined(),
      async restart() {
        await real.close()
        await server.restart()
        real = open()
        return confined()
      },
      faults: [],
      close: () => real.close(),
    }
  })
}

/**
 * A store that shows only the streams of one prefix and what came after one position, so that tests which
 * need an empty log can share a server. Imported by tests only.
 */
function confineStore(store: EventStore, prefix: string, base: Position): EventStore {
  // What can be erased is known by how its name begins, and is read by name only.
  const within = (stream: string): string => {
    if (!isStreamName(stream)) return stream
    return isErasable(stream) ? `${stream}.${prefix}` : prefix + stream
  }
  const strip = (event: RecordedEvent): RecordedEvent => ({
    ...event,
    stream: isErasable(event.stream)
      ? event.stream.slice(0, -prefix.length - 1)
      : event.stream.slice(prefix.length),
  })
  const confine = ({ streamPrefixes = [''], ...filter }: EventFilter = {}): EventFilter => ({
    ...filter,
    streamPrefixes: streamPrefixes.map((streamPrefix) => prefix + streamPrefix),
  })
  const toBase = (position: Position): Position => (comparePositions(position, base) <= 0 ? START : position)
  const stripItem = (item: SubscriptionItem): SubscriptionItem =>
    item.kind === 'event'
      ? { kind: 'event', event: strip(item.event) }
      : { kind: item.kind, position: toBase(item.position) }
  const fromBase = (after: Position): Position => (after === START ? base : after)

  return {
    append: (stream, events, options) => store.append(within(stream), events, options),
    async *read(stream, options) {
      for await (const event of store.read(within(stream), options)) yield strip(event)
    },
    async *readAll({ after = START, filter, ...options } = {}) {
      const all = store.readAll({ ...options, after: fromBase(after), filter: confine(filter) })
      for await (const event of all) yield strip(event)
    },
    async *subscribe({ after, filter, signal }) {
      const from = after === 'end' ? after : fromBase(after)
      for await (const item of store.subscribe({ after: from, filter: confine(filter), signal }))
        yield stripItem(item)
    },
    erase: (stream) => store.erase(within(stream)),
    async head() {
      return toBase(await store.head())
    },
    health: () => store.health(),
    close: () => store.close(),
  }
}

import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from 'testcontainers'
import { afterAll, describe, expect, test } from 'vitest'
import { describeEventStoreContract } from '../event-store.contract.ts'
import { confineStore } from './confined-store.ts'
import { openEventStoreDbStore } from './eventstoredb-store.ts'

const IMAGE = 'eventstore/eventstore:23.10.0-bookworm-slim'
const PORT = 2_113

/** A server to run against. */
interface RealServer {
  connectionString(): string
  restart(): Promise<void>
}

/** Where a server comes from: a given one, or a container; or why there is none. */
async function findServer(): Promise<{ start?: () => Promise<RealServer>; missing?: string }> {
  const url = process.env['EVENTSTORE_URL']
  // A given server is not ours to restart: reopening the store stands in for it.
  if (url !== undefined) {
    return { start: async () => ({ connectionString: () => url, restart: async () => undefined }) }
  }
  try {
    await getContainerRuntimeClient()
    return { start: startContainer }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { missing: `EVENTSTORE_URL is not set and there is no container engine: ${reason}` }
  }
}

let container: StartedTestContainer | undefined

async function startContainer(): Promise<RealServer> {
  const started = await new GenericContainer(IMAGE)
    .withCommand(['--insecure', '--run-projections=None'])
    .withExposedPorts(PORT)
    .withWaitStrategy(Wait.forHttp('/health/live', PORT).forStatusCode(204))
    .start()
  container = started
  return {
    connectionString: () => `esdb://${started.getHost()}:${started.getMappedPort(PORT)}?tls=false`,
    restart: () => started.restart(),
  }
}

const { start, missing } = await findServer()

/** One test that is left out stands for the whole contract, whatever it grows to: what skips is counted. */
const leaveOut = (): void => test('keeps the contract', () => expect(start).toBeDefined())
const describeContract = start === undefined ? leaveOut : describeEventStoreContract

describe.skipIf(start === undefined)(
  `a real server${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    let starting: Promise<RealServer> | undefined
    let harnesses = 0
    const run = crypto.randomUUID().slice(0, 8)

    describeContract('EventStoreDB, a real server', async () => {
      if (start === undefined) throw new Error('There is no server.')
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
    afterAll(async () => {
      await container?.stop()
    })
  },
)

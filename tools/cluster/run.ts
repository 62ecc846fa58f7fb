import { EIGHT, FOUR, missingServers, runCluster } from './cluster.ts'
import { allFaults } from './faults.ts'
import { realStore, startDouble } from './store-under-test.ts'

/**
 * `npm run cluster [-- words of a fault …]`: eight processes, every fault, and an audit of the log behind it. Over the
 * store at EVENTSTORE_URL where that is set, which must be empty; STORE_NODES (`port:pidfile,…`) names its nodes on this
 * machine, so that they can be made to stand still. PROCESSES=4 starts half as many.
 */
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const { EVENTSTORE_URL, STORE_NODES = '', RATE = '8', BETWEEN_S = '5', PROCESSES } = process.env
if (missingServers !== undefined) throw new Error(`No cluster can be started:${missingServers}`)
const store = EVENTSTORE_URL === undefined ? await startDouble() : realStore(EVENTSTORE_URL, STORE_NODES)
const words = process.argv.slice(2)
const faults = allFaults({ store }).filter(({ name }) => words.every((word) => name.includes(word)))
const { found, lines } = await runCluster({
  roles: PROCESSES === '4' ? FOUR : EIGHT,
  store,
  faults,
  rate: Number(RATE),
  betweenMs: Number(BETWEEN_S) * 1_000,
  random: Math.random,
  say,
})
for (const line of lines) say(line)
say(found.length === 0 ? 'The log and what was seen agree.' : `${found.length} things are wrong:`)
for (const what of found.slice(0, 100)) say(`- ${what}`)
store.stop()
process.exit(found.length === 0 ? 0 : 1)

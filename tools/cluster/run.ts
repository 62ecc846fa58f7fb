import { answerHelp } from '../../testing/answer-help.ts'
import { EIGHT, FOUR, missingServers, runCluster } from './cluster.ts'
import { allFaults } from './faults.ts'
import { realStore, startDouble } from './store-under-test.ts'

const HELP = `Runs eight processes under load, injects every fault in turn, and audits the log afterwards.

  npm run cluster -- [WORD …]

  WORD            only faults whose name contains every word
  EVENTSTORE_URL  an empty store to run over; a double of EventStoreDB without it
  STORE_NODES     port:pidfile,… of the nodes of that store on this machine, so that they can be frozen
  PROCESSES=4     starts four processes
  RATE            requests a second; 8 without it
  BETWEEN_S       seconds between two faults; 5 without it

Ends with 0 where the log and the callers agree, with 1 where not.`
answerHelp(HELP)
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

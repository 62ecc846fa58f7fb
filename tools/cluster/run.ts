import { parseArgs } from 'node:util'
import { answerHelp } from '../../testing/answer-help.ts'
import { EIGHT, FOUR, missingServers, runCluster } from './cluster.ts'
import { allFaults } from './faults.ts'
import { openStore } from './open-store.ts'
import { STORE_HELP } from './store-help.ts'

const HELP = `Runs eight processes under load, injects every fault in turn, and audits the log afterwards.

  npm run cluster -- [--store-node COMMAND] [WORD …]

  WORD             only faults whose name contains every word
  PROCESSES=4      starts four processes
  RATE             requests a second; 8 without it
  BETWEEN_S        seconds between two faults; 5 without it
${STORE_HELP}

Ends with 0 where the log and the callers agree, with 1 where not.`
answerHelp(HELP)
const say = (line: string): void => void process.stdout.write(`${line}\n`)
// The nodes of a store end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
const { RATE = '8', BETWEEN_S = '5', PROCESSES } = process.env
const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { 'store-node': { type: 'string' } },
})
if (missingServers !== undefined) throw new Error(`No cluster can be started:${missingServers}`)
const store = await openStore(values['store-node'], say)
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

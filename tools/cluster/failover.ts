import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { reasonOf } from '../../contracts/errors/errors.ts'
import { openEventStoreDbStore } from '../../services/log/eventstoredb/eventstoredb-store.ts'
import { answerHelp } from '../../testing/answer-help.ts'
import { readLog } from './audit.ts'
import { missingServers, OPERATOR_TOKEN, startCluster } from './cluster.ts'
import { failoverTable, type Group, recovered, type Strike } from './failover-times.ts'
import { startLoad } from './load.ts'
import type { Member } from './member.ts'
import { openStore } from './open-store.ts'
import { noRecords } from './records.ts'
import { STORE_HELP } from './store-help.ts'

const HELP = `Kills and freezes engines, settlers and dispatchers in turn, and measures how soon another process has their leases and works.

  npm run failover -- [--store-node COMMAND] [ROUNDS]

  ROUNDS           how often each of them is struck, 1 to 100; 4 without it
${STORE_HELP}

It runs under a small load.`
answerHelp(HELP)
const MEMBERS = {
  engine: ['engine1', 'engine2'],
  dispatcher: ['sender1', 'sender2'],
  settler: ['settler1', 'settler2'],
} as const satisfies Record<Group, readonly string[]>
/** Struck at the same time: without an engine nothing comes due for those who deliver, and no call is paid. */
const TURNS: readonly (readonly Group[])[] = [['engine'], ['dispatcher', 'settler']]
const ROLES = {
  api1: 'api,projector',
  engine1: 'engine',
  engine2: 'engine',
  sender1: 'dispatcher',
  sender2: 'dispatcher',
  settler1: 'settler',
  settler2: 'settler',
} as const
/** How long is watched, and how long everything may settle before the next. */
const [WATCHED_MS, SETTLE_MS] = [14_000, 3_000]

/** One goes, is missed, and comes back. */
async function strike(group: Group, how: Strike['how'], member: Member): Promise<Strike> {
  const at = Date.now()
  if (how === 'killed') await member.kill()
  else member.freeze()
  await pause(WATCHED_MS)
  if (how === 'killed') await member.start()
  else member.thaw()
  return { group, how, at }
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function run(rounds: number, storeNode: string | undefined): Promise<void> {
  if (missingServers !== undefined) throw new Error(`no cluster can be started:${missingServers}`)
  const closers: (() => Promise<void> | void)[] = []
  const store = await openStore(storeNode, say)
  const records = noRecords()
  const reading = openEventStoreDbStore({ connectionString: store.url })
  try {
    const cluster = await startCluster(
      { store, roles: ROLES },
      records,
      (close) => void closers.unshift(close),
    )
    const { members, receiver, chain } = cluster
    const load = await startLoad({
      members: members.filter(({ answersCallers }) => answersCallers),
      operatorToken: OPERATOR_TOKEN,
      receiver,
      records,
      chain,
      rate: 1,
      random: Math.random,
    })
    const named = (name: string): Member => members.find((member) => member.name === name) as Member
    const strikes: Strike[] = []
    for (let round = 0; round < rounds; round++) {
      const how = round % 4 < 2 ? 'killed' : 'stands still'
      for (const groups of TURNS) {
        await pause(SETTLE_MS)
        const struck = groups.map((group) => strike(group, how, named(MEMBERS[group][round % 2] ?? '')))
        strikes.push(...(await Promise.all(struck)))
      }
      say(`round ${round + 1} of ${rounds}`)
    }
    await pause(SETTLE_MS)
    await load.stop()
    const log = await readLog(reading)
    for (const line of failoverTable(strikes.map((one) => ({ ...one, ...recovered(log, one, records) }))))
      say(line)
    for (const fault of records.faults) say(`wrong: ${fault}`)
  } finally {
    for (const close of closers) await close()
    await reading.close()
    store.stop()
  }
}

// The nodes of a store end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'store-node': { type: 'string' } },
  })
  const [rounds = '4'] = positionals
  if (!/^([1-9]\d?|100)$/.test(rounds)) throw new Error(`ROUNDS is 1 to 100, not ${rounds}`)
  await run(Number(rounds), values['store-node'])
  process.exit(0)
} catch (error) {
  process.stderr.write(`${reasonOf(error)}\n`)
  process.exit(1)
}

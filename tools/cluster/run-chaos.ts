import { type Asked, drawFaults, HELP, readChaos } from './chaos.ts'
import { createRandom } from './random.ts'

const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function run({ minutes, seed, processes }: Asked): Promise<number> {
  // Looks for servers as it is loaded, which help needs none of.
  const { EIGHT, FOUR, missingServers, runCluster } = await import('./cluster.ts')
  if (missingServers !== undefined) throw new Error(`no cluster can be started:${missingServers}`)
  const { startDouble } = await import('./store-under-test.ts')
  const roles = processes === 4 ? FOUR : EIGHT
  const store = await startDouble()
  const random = createRandom(seed)
  let until: number | undefined
  const faults = drawFaults({
    random: random.fork('faults'),
    members: Object.keys(roles),
    // From when the cluster is up.
    isOpen: () => performance.now() < (until ??= performance.now() + minutes * 60_000),
  })
  const load = { rate: processes, random: random.fork('load').next }
  try {
    const { found, lines } = await runCluster({
      roles,
      store,
      faults,
      ...load,
      betweenMs: 2_000,
      isParted: true,
      say,
    })
    say(`\nWhat was done, and how callers fared (seed ${seed}):`)
    for (const line of lines) say(`  ${line}`)
    say(found.length === 0 ? 'The auditors found nothing.' : `The auditors found ${found.length}:`)
    for (const what of found.slice(0, 100)) say(`  ${what}`)
    return found.length === 0 ? 0 : 1
  } finally {
    store.stop()
  }
}

function asked(): Asked | undefined {
  try {
    return readChaos(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}\n`)
    return undefined
  }
}

const request = asked()
if (request === undefined) process.exit(2)
if (request.help) say(HELP)
else process.exit(await run(request))

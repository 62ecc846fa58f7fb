import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reasonOf } from '../../contracts/errors/errors.ts'
import { answerHelp } from '../../testing/answer-help.ts'
import { type Asked, drawFaults, HELP, readChaos } from './chaos.ts'
import type { ClusterRun } from './cluster.ts'
import { mountDisk } from './own-disk.ts'
import { createRandom } from './random.ts'

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** Keeps what a finding can be understood from. @returns the folder */
function kept({ log, outputs }: Pick<ClusterRun, 'log' | 'outputs'>): string {
  const directory = mkdtempSync(join(tmpdir(), 'chaos-found-'))
  writeFileSync(join(directory, 'log.ndjson'), log.map((event) => `${JSON.stringify(event)}\n`).join(''))
  for (const [name, output] of outputs) writeFileSync(join(directory, `${name}.log`), output)
  return directory
}

function canMount(): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'chaos-'))
  const disk = mountDisk(directory)
  disk?.close()
  rmSync(directory, { recursive: true, force: true })
  return disk !== undefined
}

const NEXT_RELEASE = new URL('newer-release.ts', import.meta.url).href

/** Every other process is one of the next release. */
const nextRelease = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.filter((_, index) => index % 2 === 1).map((name) => [name, NEXT_RELEASE]))

async function run(
  { minutes, seed, processes, releases, storeNode }: Asked,
  signal: AbortSignal,
): Promise<number> {
  // Loaded here since it looks for servers as it is loaded, and help needs none.
  const { EIGHT, FOUR, missingServers, runCluster } = await import('./cluster.ts')
  const { openStore } = await import('./open-store.ts')
  if (missingServers !== undefined) throw new Error(`no cluster can be started:${missingServers}`)
  const roles = processes === 4 ? FOUR : EIGHT
  const store = await openStore(storeNode, say)
  const random = createRandom(seed)
  const hasOwnDisks = canMount()
  let until: number | undefined
  const faults = drawFaults({
    random: random.fork('faults'),
    members: Object.keys(roles),
    hasDisks: hasOwnDisks,
    // Nodes tell one another's addresses, past any line.
    lines: store.url.includes(',') ? ['NATS', 'Redis'] : ['NATS', 'Redis', 'store'],
    storeFaults: store.faults,
    // From when the cluster is up.
    isOpen: () => performance.now() < (until ??= performance.now() + minutes * 60_000),
  })
  const load = { rate: processes, random: random.fork('load').next }
  try {
    const { found, lines, ...evidence } = await runCluster({
      roles,
      store,
      faults,
      ...load,
      betweenMs: 2_000,
      isParted: true,
      hasOwnDisks,
      preloads: releases === 1 ? {} : nextRelease(Object.keys(roles)),
      signal,
      say,
    })
    say(`\nWhat was done, and how callers fared (seed ${seed}):`)
    for (const line of lines) say(`  ${line}`)
    say(found.length === 0 ? 'The auditors found nothing.' : `The auditors found ${found.length}:`)
    for (const what of found.slice(0, 100)) say(`  ${what}`)
    if (found.length > 0) say(`The log, and what the processes wrote, are in ${kept(evidence)}`)
    return found.length === 0 ? 0 : 1
  } finally {
    store.stop()
  }
}

function asked(): Asked | undefined {
  try {
    return readChaos(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(`${reasonOf(error)}\n\n${HELP}\n`)
    return undefined
  }
}

const BROKEN_OFF = 130
answerHelp(HELP)
const request = asked()
if (request === undefined) process.exit(2)
const breaking = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => breaking.abort())
const code = await run(request, breaking.signal).catch((error: unknown) => {
  say(reasonOf(error))
  return breaking.signal.aborted ? BROKEN_OFF : 1
})
process.exit(code)

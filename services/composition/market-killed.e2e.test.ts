import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { decodeEvent } from '../../contracts/event-catalogue.ts'
import { runSignal } from '../cli/kit/run-signal.fixture.ts'
import { openEmbeddedStore } from '../log/embedded/embedded-store.ts'

const START = join(import.meta.dirname, '..', 'start.js')
const OPERATOR_TOKEN = 'operator-token-of-this-test'
/** Bars of the past after which the process is killed. */
const KILLS = [150, 1_000, 2_300]

const folder = mkdtempSync(join(tmpdir(), 'market-killed-'))
let child: ChildProcess | undefined

afterEach(async () => {
  await kill()
  rmSync(folder, { recursive: true, force: true })
})

async function kill(): Promise<void> {
  if (child?.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** Market time is real time: all starts of this test have the same present, but for a minute. */
async function start(directory: string): Promise<string> {
  const started = spawn(process.execPath, [START, '--port', '0', '--data-dir', directory], {
    env: { PATH: process.env.PATH, OPERATOR_TOKEN, LOG_LEVEL: 'error', COINS: 'BTC,ETH,SOL' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child = started
  let out = ''
  for await (const chunk of started.stdout) {
    out += String(chunk)
    const url = /(http:\/\/127\.0\.0\.1:\d+)\/ +the board/.exec(out)?.[1]
    if (url !== undefined) return url
  }
  throw new Error(`the service ended: ${out}`)
}

/** Resolves once so many bars of the past were computed, or all. */
async function passed(url: string, bars: number): Promise<void> {
  for (;;) {
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` }
    const answer = await fetch(`${url}/readyz`, { headers })
    const { components } = (await answer.json()) as {
      components: { name: string; more?: { past?: { computed: number } | null } }[]
    }
    const past = components.find(({ name }) => name === 'market')?.more?.past
    if (answer.ok && (past === null || (past?.computed ?? 0) >= bars)) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** The records of a bar as text, the price that they are about, and the bar at which the indicators began. */
type Facts = Map<
  string,
  { readonly fact: string; readonly price: number | null; readonly anchorBar?: number }
>

/** The records of each bar, by series and bar. No bar may have two. */
async function factsOf(directory: string): Promise<{ verdicts: Facts; outcomes: Facts }> {
  const store = await openEmbeddedStore({ directory: join(directory, 'simulated'), now: Date.now })
  const [verdicts, outcomes]: [Facts, Facts] = [new Map(), new Map()]
  for await (const recorded of store.readAll({ filter: { types: ['VerdictRecorded', 'OutcomeLabelled'] } })) {
    const { type, data } = decodeEvent(recorded)
    if (type !== 'VerdictRecorded' && type !== 'OutcomeLabelled') continue
    const bar = `${data.coin} ${data.timeframe} ${data.barClose}`
    const facts = type === 'VerdictRecorded' ? verdicts : outcomes
    expect(facts.has(bar), `${type} of ${bar}`).toBe(false)
    // Ids are those of a log.
    const fact = JSON.stringify({ ...data, verdictId: '' })
    facts.set(
      bar,
      type === 'VerdictRecorded'
        ? { fact, price: data.price, anchorBar: data.anchorBar }
        : { fact, price: data.closePrice },
    )
  }
  await store.close()
  return { verdicts, outcomes }
}

test('killed amid its past again and again, a market has the verdicts that it has undisturbed, each once', async () => {
  const killed = join(folder, 'killed')
  for (const bars of KILLS) {
    await passed(await start(killed), bars)
    await kill()
  }
  const url = await start(killed)
  await passed(url, Infinity)
  const vkey = (await (await fetch(`${url}/log/vkeys`)).text()).split('\n')[0] ?? ''
  const audit = await runSignal('audit', url, '--vkey', vkey, '--state', join(folder, 'audit.json'))
  expect(audit.said).toContain('nothing: the log holds together')
  await kill()
  const undisturbed = join(folder, 'undisturbed')
  await passed(await start(undisturbed), Infinity)
  await kill()
  const [found, wanted] = [await factsOf(killed), await factsOf(undisturbed)]
  const both = [...wanted.verdicts].filter(([bar]) => found.verdicts.has(bar))
  expect(both.length).toBeGreaterThan(0.95 * wanted.verdicts.size)
  for (const [bar, { price }] of both) expect(found.verdicts.get(bar)?.price, bar).toBe(price)
  // A process that begins later may begin the indicators of a series later; the audit computed all verdicts again.
  const alike = both.filter(([bar, { anchorBar }]) => found.verdicts.get(bar)?.anchorBar === anchorBar)
  expect(alike.length).toBeGreaterThan(0.3 * both.length)
  for (const [bar, verdict] of alike) expect(found.verdicts.get(bar), bar).toEqual(verdict)
  const labelled = [...wanted.outcomes].filter(([bar]) => found.outcomes.has(bar))
  expect(labelled.length).toBeGreaterThan(0.9 * wanted.outcomes.size)
  for (const [bar, { price }] of labelled) expect(found.outcomes.get(bar)?.price, bar).toBe(price)
  const begunAlike = new Set(alike.map(([bar]) => bar))
  for (const [bar, outcome] of labelled)
    if (begunAlike.has(bar)) expect(found.outcomes.get(bar), bar).toEqual(outcome)
}, 180_000)

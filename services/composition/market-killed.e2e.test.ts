import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Outcome } from '../../contracts/domain/outcome.ts'
import type { Verdict } from '../../contracts/domain/verdict.ts'
import { decodeEvent } from '../../contracts/events/event-catalogue.ts'
import { runSignal } from '../cli/kit/run-signal.fixture.ts'
import { type ServiceProcess, startServiceProcess } from '../http/testing/start-service-process.ts'
import { openEmbeddedStore } from '../log/embedded/embedded-store.ts'

const OPERATOR_TOKEN = 'operator-token-of-this-test'
/** Bars of the past after which the process is killed. */
const KILLS = [150, 1_000, 2_300]

const folder = mkdtempSync(join(tmpdir(), 'market-killed-'))
let service: ServiceProcess | undefined

afterEach(async () => {
  await service?.kill()
  rmSync(folder, { recursive: true, force: true })
})

/** Market time is real time: all starts of this test have the same present, but for a minute. */
async function start(directory: string): Promise<string> {
  service = await startServiceProcess(
    { FRESH: undefined, OPERATOR_TOKEN, COINS: 'BTC,ETH,SOL' },
    { dataDirectory: directory },
  )
  return service.url
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

/** The records of each bar, by series and bar. No bar may have two. Ids are those of a log, and left out. */
async function factsOf(directory: string) {
  const store = await openEmbeddedStore({ directory: join(directory, 'simulated'), now: Date.now })
  const verdicts = new Map<string, Verdict>()
  const outcomes = new Map<string, Outcome>()
  for await (const recorded of store.readAll({ filter: { types: ['VerdictRecorded', 'OutcomeLabelled'] } })) {
    const { type, data } = decodeEvent(recorded)
    if (type !== 'VerdictRecorded' && type !== 'OutcomeLabelled') continue
    const bar = `${data.coin} ${data.timeframe} ${data.barClose}`
    expect((type === 'VerdictRecorded' ? verdicts : outcomes).has(bar), `${type} of ${bar}`).toBe(false)
    if (type === 'VerdictRecorded') verdicts.set(bar, { ...data, verdictId: '' })
    else outcomes.set(bar, { ...data, verdictId: '' })
  }
  await store.close()
  return { verdicts, outcomes }
}

test('killed amid its past again and again, a market has the verdicts that it has undisturbed, each once', async () => {
  const killed = join(folder, 'killed')
  for (const bars of KILLS) {
    await passed(await start(killed), bars)
    await service?.kill()
  }
  const url = await start(killed)
  await passed(url, Infinity)
  const vkey = (await (await fetch(`${url}/log/vkeys`)).text()).split('\n')[0] ?? ''
  const audit = await runSignal('audit', url, '--vkey', vkey, '--state', join(folder, 'audit.json'))
  expect(audit.said).toContain('nothing: the log holds together')
  await service?.kill()
  const undisturbed = join(folder, 'undisturbed')
  await passed(await start(undisturbed), Infinity)
  await service?.kill()
  const [found, wanted] = [await factsOf(killed), await factsOf(undisturbed)]
  const both = [...wanted.verdicts].filter(([bar]) => found.verdicts.has(bar))
  expect(both.length).toBeGreaterThan(0.95 * wanted.verdicts.size)
  const begunAlike = new Set<string>()
  for (const [bar, verdict] of both) {
    const other = found.verdicts.get(bar) ?? expect.fail(bar)
    expect(other.price, bar).toBe(verdict.price)
    expect(other.probability, bar).toBeCloseTo(verdict.probability, 6)
    // A process that begins later may begin the indicators of a series later; the audit computed all verdicts again.
    if (other.anchorBar !== verdict.anchorBar) continue
    begunAlike.add(bar)
    expect(other, bar).toEqual(verdict)
  }
  const labelled = [...wanted.outcomes].filter(([bar]) => found.outcomes.has(bar))
  expect(labelled.length).toBeGreaterThan(0.9 * wanted.outcomes.size)
  for (const [bar, outcome] of labelled) {
    expect(found.outcomes.get(bar)?.closePrice, bar).toBe(outcome.closePrice)
    if (begunAlike.has(bar)) expect(found.outcomes.get(bar), bar).toEqual(outcome)
  }
}, 180_000)

import { parseArgs } from 'node:util'
import { growthOf, minutesOf, runSoak } from './run-soak.ts'

/** The heap may be so much larger at the end than in the middle: what is left is noise of the collector. */
const GROWTH_ALLOWED = 0.05

const { values } = parseArgs({
  options: {
    venues: { type: 'string', default: '14' },
    coins: { type: 'string', default: '50' },
    hours: { type: 'string', default: '10' },
    history: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
  },
})

const began = performance.now()
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const { samples, broken, lateBars, faults } = await runSoak({
  venues: Number(values.venues),
  coins: Number(values.coins),
  minutes: minutesOf(Number(values.hours)),
  historyBars: Number(values.history),
  seed: Number(values.seed),
  onSample({ minute, heapBytes, bars, requests }) {
    const seconds = Math.round((performance.now() - began) / 1_000)
    print(
      `minute ${minute}: heap ${(heapBytes / 1e6).toFixed(1)} MB, ${bars} bars, ${requests} requests, ${seconds} s`,
    )
  },
})
const growth = growthOf(samples)
print(`growth in the second half: ${(100 * growth).toFixed(1)} % (allowed ${100 * GROWTH_ALLOWED} %)`)
print(
  `${faults} faults, ${lateBars} bars late, ${broken.length} series broken ${broken.slice(0, 5).join(' ')}`,
)
if (growth > GROWTH_ALLOWED || broken.length > 0) process.exitCode = 1

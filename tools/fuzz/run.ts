import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createSeededRandom } from '../../services/http/testing/seeded-random.ts'
import { answerHelp } from '../../testing/answer-help.ts'
import { CORPUS, corpusLine, corpusOf } from './corpus.ts'
import { faultOf, nextInput, shrunk } from './fuzz.ts'
import { TARGETS } from './targets/all-targets.ts'

const HELP = `Feeds the parsers of foreign input with mutations of their corpus in fixtures/corpus.

  npm run fuzz -- [--seconds 60] [--seed 1] [--target NAME]

  --seconds N    how long all targets take together; 60 without it
  --seed N       draws the inputs; 1 without it
  --target NAME  one parser only

Ends with 1 where an input broke a parser; the smallest such input is added to the corpus, and tests read it from then on.
Targets: ${TARGETS.map(({ name }) => name).join(' ')}`

/** Time of this thread that one input may take, at most 64 KiB long. */
const MOST_MS = 1_000

answerHelp(HELP)
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    target: { type: 'string' },
  },
})
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const targets = TARGETS.filter(({ name }) => values.target === undefined || name === values.target)
const [seconds, seed] = [Number(values.seconds), Number(values.seed)]

if (targets.length === 0 || !(seconds > 0) || !Number.isInteger(seed)) {
  say(HELP)
  process.exitCode = 2
} else process.exitCode = (await fuzz()) ? 0 : 1

/** Gives each target its share of the time. @returns whether nothing broke */
async function fuzz(): Promise<boolean> {
  let isWhole = true
  for (const target of targets) {
    const seeds = corpusOf(target.name)
    const random = createSeededRandom(seed)
    const until = performance.now() + (seconds * 1_000) / targets.length
    let [inputs, longest, slowest] = [0, 0, '']
    let broken: { readonly input: string; readonly fault: string } | undefined
    while (broken === undefined && performance.now() < until) {
      const input = nextInput(target, seeds, random)
      const before = process.threadCpuUsage()
      const fault = await faultOf(target, input)
      const { user, system } = process.threadCpuUsage(before)
      const tookMs = (user + system) / 1_000
      if (tookMs > longest) [longest, slowest] = [tookMs, input]
      inputs += 1
      if (fault !== undefined) broken = { input: await shrunk(target, input, fault), fault }
      else if (tookMs > MOST_MS) broken = { input, fault: `takes ${Math.round(tookMs)} ms` }
    }
    say(`${target.name}: ${inputs} inputs, the slowest ${longest.toFixed(1)} ms for ${slowest.length} bytes`)
    if (broken === undefined) continue
    isWhole = false
    appendFileSync(
      join(CORPUS, `${target.name}.txt`),
      `# ${broken.fault.slice(0, 120).replaceAll(/\s+/g, ' ')}\n${corpusLine(broken.input)}\n`,
    )
    say(`  BROKEN: ${broken.fault}\n  by ${corpusLine(broken.input).slice(0, 300)}`)
  }
  return isWhole
}

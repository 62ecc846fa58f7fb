import { answerHelp } from '../../testing/answer-help.ts'
import { type Asked, HELP, readArguments } from './command.ts'
import { coverageOf } from './coverage.ts'
import { PLANTS } from './plants.ts'
import { type Finding, runSeeds } from './run-seeds.ts'
import { simulate } from './simulation.ts'

const TOLD_EVERY_MS = 5_000
const say = (line: string): void => void process.stdout.write(`${line}\n`)
type AskedRun = Extract<Asked, { kind: 'run' }>

/** One after the other in this thread, told step by step where that is asked for. */
async function tell({ from, seeds, plant, tells }: AskedRun): Promise<Finding | undefined> {
  for (let seed = from; seed < from + seeds; seed++) {
    const { found, trace, steps } = await simulate(seed, plant?.seams, tells ? say : undefined)
    if (tells) say(`seed ${seed}: ${steps} steps, trace ${trace}`)
    if (found.length > 0) return { seed, found }
  }
  return undefined
}

async function run(asked: AskedRun): Promise<number> {
  const { from, seeds, plant, tells, covers, jobs } = asked
  const began = performance.now()
  let toldAt = began
  const onDone = (done: number): void => {
    if (performance.now() - toldAt < TOLD_EVERY_MS) return
    toldAt = performance.now()
    say(`${done} of ${seeds} seeds, ${((done / (toldAt - began)) * 1_000).toFixed(1)} a second`)
  }
  let finding: Finding | undefined
  if (covers) {
    const { result, table } = await coverageOf(() => tell(asked))
    finding = result
    say(table)
  } else if (tells) finding = await tell(asked)
  else finding = await runSeeds({ from, seeds, jobs, plant: plant?.name, onDone })
  if (finding !== undefined) {
    const { seed, found } = finding
    const again = `npm run simulate -- --from ${seed} --seeds 1${plant === undefined ? '' : ` --plant ${plant.name}`} --tell`
    say(`seed ${seed} found:\n${found.map((what) => `  ${what}`).join('\n')}\nReplay: ${again}`)
    return 1
  }
  const took = ((performance.now() - began) / 1_000).toFixed(1)
  say(
    `${seeds} seeds from ${from} in ${took} s: ${plant === undefined ? 'nothing is wrong' : `${plant.name} was not found`}`,
  )
  return 0
}

answerHelp(HELP)
const asked = readArguments(process.argv.slice(2))
if (asked.kind === 'plants') for (const { name } of PLANTS) say(name)
else if (asked.kind === 'refused') {
  process.stderr.write(`${asked.why}\n\n${HELP}\n`)
  process.exitCode = 2
} else process.exitCode = await run(asked)

import { HELP, readArguments } from './command.ts'
import { PLANTS } from './plants.ts'
import { simulate } from './simulation.ts'

const TOLD_EVERY_MS = 5_000
const say = (line: string): void => void process.stdout.write(`${line}\n`)

async function run({
  from,
  seeds,
  plant,
  tells,
}: Extract<ReturnType<typeof readArguments>, { kind: 'run' }>) {
  const began = performance.now()
  let toldAt = began
  const again = (seed: number): string =>
    `npm run simulate -- --from ${seed} --seeds 1${plant === undefined ? '' : ` --plant ${plant.name}`} --tell`
  for (let seed = from; seed < from + seeds; seed++) {
    const { found, trace, steps } = await simulate(seed, plant?.seams, tells ? say : undefined)
    if (tells) say(`seed ${seed}: ${steps} steps, trace ${trace}`)
    if (found.length > 0) {
      say(`seed ${seed} found:\n${found.map((what) => `  ${what}`).join('\n')}\nReplay: ${again(seed)}`)
      return 1
    }
    if (performance.now() - toldAt < TOLD_EVERY_MS) continue
    toldAt = performance.now()
    const done = seed - from + 1
    say(`${done} of ${seeds} seeds, ${((done / (toldAt - began)) * 1_000).toFixed(1)} a second`)
  }
  const took = ((performance.now() - began) / 1_000).toFixed(1)
  say(
    `${seeds} seeds from ${from} in ${took} s: ${plant === undefined ? 'nothing is wrong' : `${plant.name} was not found`}`,
  )
  return 0
}

const asked = readArguments(process.argv.slice(2))
if (asked.kind === 'help') say(HELP)
else if (asked.kind === 'plants') for (const { name } of PLANTS) say(name)
else if (asked.kind === 'refused') {
  process.stderr.write(`${asked.why}\n\n${HELP}\n`)
  process.exitCode = 2
} else process.exitCode = await run(asked)

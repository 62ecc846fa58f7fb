import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { PLANTS, type Plant } from './plants.ts'

/** Arguments of the command. */
export type Asked =
  | { readonly kind: 'plants' }
  | { readonly kind: 'refused'; readonly why: string }
  | {
      readonly kind: 'run'
      readonly from: number
      readonly seeds: number
      readonly plant: Plant | undefined
      readonly tells: boolean
      /** Whether the lines of the product that are executed are counted. */
      readonly covers: boolean
      /** Threads that share the seeds. */
      readonly jobs: number
    }

export const HELP = `Lives seeds through: several processes of the service in one, over a simulated network, disk, clock and chain.

  npm run simulate -- [--from S] [--seeds N] [--plant NAME] [--jobs J] [--tell] [--coverage]
  npm run simulate -- --list-plants

  --from S        first seed, a whole number from 0 to ${2 ** 32 - 1}; 1 without it
  --seeds N       how many seeds; 100 without it
  --plant NAME    puts a fault into the service, to see that it is found
  --jobs J        threads that share the seeds, 1 to 64; as many as this machine has cores without it. The outcome is the
                  same for any number
  --tell          prints what happens as it happens: for one seed
  --coverage      counts which lines of the product the seeds execute, room by room, in one thread: a fault in the
                  others cannot be found
  --list-plants   names of the faults, one a line
  --help          this

Ends with 0 where all is as it must be, with 1 at the first seed that finds something, with 2 for arguments that are none.`

const MOST = 2 ** 32 - 1
const MOST_JOBS = 64
const refused = (why: string): Asked => ({ kind: 'refused', why })

/** @example readArguments(['--seeds', '10']) */
export function readArguments(given: readonly string[]): Asked {
  let values: ReturnType<typeof parse>
  try {
    values = parse(given)
  } catch (error) {
    return refused(error instanceof Error ? error.message : String(error))
  }
  if (values['list-plants']) return { kind: 'plants' }
  const { from = '1', seeds = values.tell === true ? '1' : '100', plant: name } = values
  if (!isCount(from)) return refused(`--from must be a whole number from 0 to ${MOST}, not ${from}`)
  if (!isCount(seeds) || Number(seeds) === 0)
    return refused(`--seeds must be a whole number from 1 to ${MOST}, not ${seeds}`)
  if (Number(from) + Number(seeds) - 1 > MOST) return refused(`seeds end at ${MOST}: ask for fewer`)
  const plant = PLANTS.find((one) => one.name === name)
  if (name !== undefined && plant === undefined)
    return refused(
      `there is no plant ${name}; --list-plants names all: ${PLANTS.map((one) => one.name).join(', ')}`,
    )
  const { jobs = String(Math.min(availableParallelism(), MOST_JOBS)) } = values
  if (!isCount(jobs) || Number(jobs) === 0 || Number(jobs) > MOST_JOBS)
    return refused(`--jobs must be a whole number from 1 to ${MOST_JOBS}, not ${jobs}`)
  return {
    kind: 'run',
    from: Number(from),
    seeds: Number(seeds),
    plant,
    tells: values.tell === true,
    covers: values.coverage === true,
    jobs: Number(jobs),
  }
}

const isCount = (text: string): boolean => /^\d{1,10}$/.test(text) && Number(text) <= MOST

const parse = (args: readonly string[]) =>
  parseArgs({
    args: [...args],
    options: {
      from: { type: 'string' },
      seeds: { type: 'string' },
      plant: { type: 'string' },
      jobs: { type: 'string' },
      tell: { type: 'boolean' },
      coverage: { type: 'boolean' },
      'list-plants': { type: 'boolean' },
    },
  }).values

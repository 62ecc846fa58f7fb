import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { Candidate } from './measure.ts'

/** Result of one round of load. */
export interface Load {
  readonly requests: number
  readonly milliseconds: number
  /** Processor time of this process, where the servers run, in microseconds. */
  readonly cpuMicros: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface LoadOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Without one it is a GET. */
  readonly body?: string
  readonly connections: number
  readonly seconds: number
  /** Every answer is to be a refusal; otherwise none may be. */
  readonly isRefused?: boolean
}

const program = createRequire(import.meta.url).resolve('autocannon')
const run = promisify(execFile)

const resultSchema = z.object({
  duration: z.number(),
  errors: z.number(),
  non2xx: z.number(),
  requests: z.object({ total: z.number() }),
  latency: z.object({ p50: z.number(), p99: z.number() }),
})

/** Sends the same request over and over from a process of its own, as fast as it is answered. */
export async function httpLoad(options: LoadOptions): Promise<Load> {
  const { url, headers, body, connections, seconds, isRefused = false } = options
  const begun = process.cpuUsage()
  const { stdout } = await run(
    process.execPath,
    [
      program,
      '--json',
      ...(body === undefined ? [] : ['--method=POST', `--body=${body}`]),
      `--connections=${connections}`,
      `--duration=${seconds}`,
      ...Object.entries(headers).flatMap(([name, value]) => ['--headers', `${name}=${value}`]),
      url,
    ],
    { maxBuffer: 16 * 1_048_576 },
  )
  const { user, system } = process.cpuUsage(begun)
  const result = resultSchema.parse(JSON.parse(stdout))
  const unexpected = isRefused ? result.requests.total - result.non2xx : result.non2xx
  if (result.errors > 0 || unexpected > 0) {
    throw new Error(`${url}: ${result.errors} errors, ${unexpected} answers that were none`)
  }
  return {
    requests: result.requests.total,
    milliseconds: result.duration * 1_000,
    cpuMicros: user + system,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  }
}

/** The same as a way of doing the work that is measured. @param onLoad told of each round */
export const loadCandidate = (
  name: string,
  options: LoadOptions,
  onLoad: (load: Load) => void = () => undefined,
): Candidate => ({
  name,
  async round() {
    const load = await httpLoad(options)
    onLoad(load)
    return { units: load.requests, milliseconds: load.milliseconds }
  },
})

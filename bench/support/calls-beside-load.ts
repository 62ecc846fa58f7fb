import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { print, quantile } from './measure.ts'

/** How long a load has to come to speed, or to a halt. */
const SETTLE_MS = 100

const script = (name: string): string => join(import.meta.dirname, name)

/** A process that makes tool calls one after the other, whenever it is asked to. */
export interface Caller {
  /** The median of calls for so long, in milliseconds. */
  median(forMs: number): Promise<number>
  stop(): void
}

/** @param key what calls are made with */
export function startCaller(url: string, key = 'sk_live_bench'): Caller {
  const caller = spawn(process.execPath, [script('call-latencies.ts'), url, key], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const answers = createInterface(caller.stdout)[Symbol.asyncIterator]()
  return {
    async median(forMs) {
      caller.stdin.write(`${forMs}\n`)
      const { value } = (await answers.next()) as { value: string }
      return quantile(
        (JSON.parse(value) as number[]).toSorted((a, b) => a - b),
        0.5,
      )
    },
    stop: () => void caller.kill(),
  }
}

/** Medians of calls, in milliseconds. */
export interface Pair {
  readonly idle: number
  readonly beside: number
}

/** A process that is a load until it is killed; it prints a line once it is at work. */
export interface Load {
  /** In the folder of this file. */
  readonly script: string
  readonly args: readonly string[]
}

/**
 * Calls beside a load and without it in turn, a moment each and in changing order, so that what else the machine does
 * hits both. The load is halted in between: what was sent to it fills its connections, and then it waits.
 */
export async function besideLoad(
  caller: Caller,
  load: Load,
  { rounds, forMs }: { readonly rounds: number; readonly forMs: number },
): Promise<readonly Pair[]> {
  const loading = spawn(process.execPath, [script(load.script), ...load.args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(loading.stdout, 'data')
  await sleep(SETTLE_MS)
  const medianAfter = async (signal: 'SIGCONT' | 'SIGSTOP'): Promise<number> => {
    loading.kill(signal)
    await sleep(SETTLE_MS)
    return caller.median(forMs)
  }
  const pairs: Pair[] = []
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0)
      pairs.push({ beside: await medianAfter('SIGCONT'), idle: await medianAfter('SIGSTOP') })
    else pairs.push({ idle: await medianAfter('SIGSTOP'), beside: await medianAfter('SIGCONT') })
  }
  loading.kill('SIGKILL')
  await once(loading, 'exit')
  return pairs
}

/** Prints the middle of the ratios and their quartiles. @param ceiling the most that the ratio may be */
export function reportBeside(name: string, pairs: readonly Pair[], ceiling?: number): void {
  const ratios = pairs.map(({ idle, beside }) => beside / idle).toSorted((a, b) => a - b)
  const medians = pairs.map(({ beside }) => beside).toSorted((a, b) => a - b)
  const [low, ratio, high] = [quantile(ratios, 0.25), quantile(ratios, 0.5), quantile(ratios, 0.75)]
  const verdict = ceiling === undefined ? '' : ratio < ceiling ? `  meets ${ceiling}` : `  MISSES ${ceiling}`
  print(
    `  ${name.padEnd(38)} p50 ${quantile(medians, 0.5).toFixed(2)} ms, × ${ratio.toPrecision(3)} of idle [${low.toPrecision(2)}–${high.toPrecision(2)}]${verdict}`,
  )
}

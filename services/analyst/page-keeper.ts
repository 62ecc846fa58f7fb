import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { reasonOf } from '../../contracts/errors.ts'
import type { Clock } from '../runtime/async/clock.ts'

const SCRIPT = fileURLToPath(new URL('../keep-pages.ts', import.meta.url))
/** A start is over by then. */
const BEGIN_MS = 2_000
const EVERY_MS = 3_600_000

const run = promisify(execFile)

/**
 * Keeps pages of replays each hour, in a process of its own: the memory that it takes goes back to the system whole.
 *
 * @param file of the embedded store
 * @param failed is given what went wrong; the next hour tries again
 */
export async function runPageKeeper(
  file: string,
  failed: (problem: string) => void,
  { sleep }: Pick<Clock, 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  for (await sleep(BEGIN_MS, signal); !signal.aborted; await sleep(EVERY_MS, signal)) {
    const running = run(process.execPath, [SCRIPT, file])
    const end = (): boolean => running.child.kill()
    signal.addEventListener('abort', end)
    await running.catch((error: unknown) => signal.aborted || failed(reasonOf(error)))
    signal.removeEventListener('abort', end)
  }
}

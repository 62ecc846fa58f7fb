import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'
import { LIMITS } from '../contracts/limits.ts'
import { explainFailure } from './composition/explain-failure.ts'
import type { RunningService } from './composition/start-service.ts'
import { sleep } from './runtime/async/sleep.ts'
import { readSettings } from './runtime/config/read-settings.ts'
import { settingsHelp } from './runtime/config/settings-help.ts'

/** How often a process checks that the one that waits for it is still there. */
const PARENT_CHECK_MS = 250
/** Part of the time of a stop that is left to end a process whose parts did not close in time. */
const ENDING_MS = 1_500
/** How long the end waits for a reader to take the last lines. */
const FLUSH_MS = 1_000
/**
 * A start fills V8's heap, and V8 keeps it while little is allocated: 100 to 150 MB. A first start works on for a minute, at
 * the market's past (docs/decisions/0173-where-idle-memory-went.md).
 */
const COLLECT_AFTER_MS = [20_000, 80_000]

/**
 * Runs the service until a signal, the end of a market that is to end the process, or a failure.
 *
 * @param exit ends the process at once; called when it cannot end by itself in time.
 * @returns the exit code, once all is closed and written. The caller ends the process with it, because not all lets
 *   go of it by itself: a connection that a silent server never answers is the operating system's for minutes.
 */
export async function main(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  exit: (code: number) => never = (code) => process.exit(code),
): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(settingsHelp())
    return 0
  }
  const signalled = stopSignal(environment)
  let service: RunningService | undefined
  let code = 0
  try {
    const settings = readSettings(args, environment)
    // A mistake in the settings is refused before all of the service is loaded.
    const { startService } = await import('./composition/start-service.ts')
    const starting = startService(settings, process.stdout)
    service = await Promise.race([starting, signalled])
    // Nobody was promised anything yet, and what is in the log stays there: no need to wait.
    if (service === undefined) exit(0)
    for (const afterMs of COLLECT_AFTER_MS) setTimeout(collectGarbage, afterMs).unref()
    const ended = service.marketEnd.then(() => (settings.EXIT_AT_END ? undefined : signalled))
    await Promise.race([signalled, ended, service.failure])
  } catch (error) {
    code = explainFailure(error, process.stderr)
  }
  if (service !== undefined && !(await isStoppedInTime(service))) exit(code)
  await Promise.all([process.stdout, process.stderr].map(flushed))
  return code
}

/** Resolves when all is written, or cannot be. */
async function flushed(stream: NodeJS.WriteStream): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const late = setTimeout(resolve, FLUSH_MS)
  stream.write('', () => resolve())
  await promise
  clearTimeout(late)
}

async function isStoppedInTime(service: RunningService): Promise<boolean> {
  const waiting = new AbortController()
  const late = sleep(LIMITS.shutdownMs - ENDING_MS, waiting.signal).then(() => false)
  const isStopped = await Promise.race([service.stop().then(() => true), late])
  waiting.abort()
  return isStopped
}

/** Resolves at the first signal to stop. Later ones change nothing: the first one's work goes on. */
function stopSignal(environment: NodeJS.ProcessEnv): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve(undefined))
  const parent = process.ppid
  if ((environment.npm_lifecycle_event ?? environment.SIGNAL_SERVICE_STARTED) !== undefined) {
    // npm starts a shell that starts us, and passes a signal to the shell only, which dies of it.
    const watching = setInterval(() => {
      if (process.ppid === parent) return
      clearInterval(watching)
      resolve(undefined)
    }, PARENT_CHECK_MS)
    watching.unref()
  }
  return promise
}

/** Takes a tenth of a second. */
function collectGarbage(): void {
  v8.setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
}

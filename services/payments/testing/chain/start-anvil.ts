import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'

export interface AnvilOptions {
  readonly chainId: number
  readonly binary: string
  /** Seconds from block to block; a block for each transaction without it. */
  readonly blockTimeS?: number
}

/** A chain that runs as a process of this machine. */
export interface RunningAnvil {
  readonly rpcUrl: string
  /** Safe to call twice. */
  stop(): Promise<void>
}

const ANSWER_DEADLINE_MS = 20_000
const STOP_DEADLINE_MS = 8_000

/**
 * Starts anvil on a free loopback port, without accounts of its own.
 *
 * @throws Error where it does not start
 */
export async function startAnvil(options: AnvilOptions): Promise<RunningAnvil> {
  const child = spawn(options.binary, argumentsFor(options), {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C goes to every process of a terminal; this one is ended after those that need it.
    detached: true,
  })
  try {
    return running(child, await portOf(child))
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

function argumentsFor({ chainId, blockTimeS }: AnvilOptions): string[] {
  const place = ['--host', '127.0.0.1', '--port', '0', '--chain-id', String(chainId)]
  // Nobody waits a quarter of an hour until play money is final.
  const kind = ['--accounts', '0', '--slots-in-an-epoch', '1']
  return [...place, ...kind, ...(blockTimeS === undefined ? [] : ['--block-time', String(blockTimeS)])]
}

function running(child: ChildProcess, port: number): RunningAnvil {
  const exited = once(child, 'exit')
  const killOnExit = (): void => void child.kill('SIGKILL')
  process.once('exit', killOnExit)
  return {
    rpcUrl: `http://127.0.0.1:${port}`,
    async stop() {
      process.off('exit', killOnExit)
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
      const giveUp = new AbortController()
      const overdue = delay(STOP_DEADLINE_MS, undefined, { signal: giveUp.signal }).then(
        () => child.kill('SIGKILL'),
        () => undefined,
      )
      await exited
      giveUp.abort()
      await overdue
    },
  }
}

/** The port that the node says it listens on; a process that ends before is reported instead of waited for. */
function portOf(child: ChildProcess): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  let said = ''
  // Read to their ends, also later: a pipe that is full would hold the chain up.
  for (const output of [child.stdout, child.stderr])
    output?.on('data', (bytes: Buffer) => {
      said = `${said}${bytes.toString()}`.slice(-500)
      const [, port] = /Listening on 127\.0\.0\.1:(\d+)/.exec(said) ?? []
      if (port !== undefined) resolve(Number(port))
    })
  child.once('error', reject)
  child.once('exit', (code, signal) =>
    reject(notStartedError(`it ended with ${code ?? signal}: ${said.trim()}`)),
  )
  const overdue = notStartedError(`it does not say where it listens for ${ANSWER_DEADLINE_MS} ms`)
  const timer = setTimeout(reject, ANSWER_DEADLINE_MS, overdue)
  return promise.finally(() => clearTimeout(timer))
}

const notStartedError = (reason: string): Error => new Error(`anvil does not start: ${reason}`)

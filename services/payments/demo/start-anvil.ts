import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { ServiceError } from '../../../contracts/errors.ts'

export interface AnvilOptions {
  readonly chainId: number
  readonly binary: string
  /** Seconds from block to block; a block for each transaction without it. */
  readonly blockTimeS?: number
  /** File that the chain is kept in from run to run. */
  readonly state?: string
}

/** A chain that runs as a process of this machine. */
export interface RunningAnvil {
  readonly rpcUrl: string
  readonly pid: number
  /** Why it ended, if it did not because of {@link stop}. */
  failure(): string | undefined
  /** Ends it and waits until its state is on the disk. Safe to call twice. */
  stop(): Promise<void>
}

const ANSWER_DEADLINE_MS = 20_000
const STOP_DEADLINE_MS = 8_000
/** How often a kept chain is written out, so that a kill loses no more. */
const STATE_INTERVAL_S = 5
/** A block is final two epochs behind the newest one. */
const FINAL_EPOCHS = 2

/**
 * Starts anvil on a free loopback port, without accounts of its own.
 *
 * @throws ServiceError `config_invalid` where it does not start
 */
export async function startAnvil(options: AnvilOptions): Promise<RunningAnvil> {
  const child = spawn(options.binary, argumentsFor(options), { stdio: ['ignore', 'pipe', 'pipe'] })
  try {
    return running(child, await portOf(child))
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

function argumentsFor({ chainId, blockTimeS, state }: AnvilOptions): string[] {
  const place = ['--host', '127.0.0.1', '--port', '0', '--chain-id', String(chainId)]
  // Nobody waits a quarter of an hour for play money; but what is final must have been written out, so that a kill
  // cannot undo it.
  const isKept = state !== undefined && blockTimeS !== undefined
  const slots = isKept ? Math.floor(STATE_INTERVAL_S / (FINAL_EPOCHS * blockTimeS)) + 1 : 1
  const kind = ['--accounts', '0', '--slots-in-an-epoch', String(slots)]
  return [
    ...place,
    ...kind,
    ...(blockTimeS === undefined ? [] : ['--block-time', String(blockTimeS)]),
    ...(state === undefined ? [] : ['--state', state, '--state-interval', String(STATE_INTERVAL_S)]),
  ]
}

function running(child: ChildProcess, port: number): RunningAnvil {
  let isStopping = false
  let failure: string | undefined
  const exited = once(child, 'exit')
  child.once('exit', (code, signal) => {
    if (!isStopping) failure = `the chain on this machine ended with ${code ?? signal}`
  })
  const killOnExit = (): void => void child.kill('SIGKILL')
  process.once('exit', killOnExit)
  return {
    rpcUrl: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    failure: () => failure,
    async stop() {
      isStopping = true
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

const notStartedError = (reason: string): ServiceError =>
  new ServiceError('config_invalid', {
    message: `The chain on this machine (DEMO_CHAIN, --demo-chain) does not start: ${reason}`,
  })

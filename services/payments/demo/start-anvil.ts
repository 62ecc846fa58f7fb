import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
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
const PROBE_INTERVAL_MS = 20
const STOP_DEADLINE_MS = 8_000
/** Attempts at a free port: between finding one and listening on it, another process may take it. */
const PORT_ATTEMPTS = 3
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
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const child = spawn(options.binary, argumentsFor(options, port), { stdio: ['ignore', 'ignore', 'pipe'] })
    try {
      await answering(child, port)
      return running(child, port)
    } catch (error) {
      child.kill('SIGKILL')
      if (attempt === PORT_ATTEMPTS) throw error
    }
  }
}

function argumentsFor({ chainId, blockTimeS, state }: AnvilOptions, port: number): string[] {
  const place = ['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(chainId), '--silent']
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

/** Resolves when the node takes connections; a process that ends before is reported instead of waited for. */
async function answering(child: ChildProcess, port: number): Promise<void> {
  let said = ''
  child.stderr?.on('data', (bytes: Buffer) => {
    said = `${said}${bytes.toString()}`.slice(-500)
  })
  const ended = new Promise<never>((_resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      reject(notStartedError(`it ended with ${code ?? signal}: ${said.trim()}`)),
    )
  })
  // The caller of the start gets the error; a later end is handled elsewhere.
  ended.catch(() => undefined)
  const deadlineMs = Date.now() + ANSWER_DEADLINE_MS
  while (!(await Promise.race([ended, accepts(port)]))) {
    if (Date.now() > deadlineMs)
      throw notStartedError(`no answer on port ${port} for ${ANSWER_DEADLINE_MS} ms`)
    await delay(PROBE_INTERVAL_MS)
  }
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const finish = (isThere: boolean): void => {
      socket.destroy()
      resolve(isThere)
    }
    socket.once('connect', () => finish(true))
    socket.once('error', () => finish(false))
  })

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw notStartedError('the system gave no port')
  return address.port
}

const notStartedError = (reason: string): ServiceError =>
  new ServiceError('config_invalid', {
    message: `The chain on this machine (DEMO_CHAIN, --demo-chain) does not start: ${reason}`,
  })

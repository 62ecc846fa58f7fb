import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { freePort } from '../../services/platform/test-servers/server-port.ts'

const START = join(import.meta.dirname, '../../services/start.js')
/** Eight processes that start at once on a busy machine take their time. */
const READY_WITHIN_MS = 180_000
const STOP_WITHIN_MS = 10_000

/** One process of the service, under a name. */
export interface Member {
  readonly name: string
  readonly url: string
  readonly roles: string
  /** What it wrote to its streams so far. */
  output(): string
  start(): Promise<void>
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>
  /** Stands still, and goes on. */
  freeze(): void
  thaw(): void
  /** Asks it to stop; the milliseconds that it took, and its exit code. */
  stop(): Promise<{ readonly tookMs: number; readonly code: number | null }>
}

/** @param endedItself told of a process that ended and was not asked to */
export async function createMember(
  options: {
    readonly name: string
    readonly roles: string
    readonly directory: string
    readonly environment: Readonly<Record<string, string>>
  },
  endedItself: (what: string) => void,
): Promise<Member> {
  const { name, roles, directory, environment } = options
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let child: ChildProcess | undefined
  let text = ''
  let isEnding = false

  async function untilReady(): Promise<void> {
    const until = performance.now() + READY_WITHIN_MS
    let said = 'nothing'
    const running = child
    const isGone = (): boolean => running?.exitCode !== null
    while (performance.now() < until && !isGone()) {
      const answer = await fetch(`${url}/readyz`, {
        headers: { authorization: `Bearer ${environment['OPERATOR_TOKEN']}` },
        signal: AbortSignal.timeout(3_000),
      }).catch(() => undefined)
      if (answer?.status === 200) return
      said = (await answer?.text()) ?? said
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    throw new Error(
      `${name} was not ready within ${READY_WITHIN_MS} ms, and said ${said}: ${text.slice(-500)}`,
    )
  }
  async function end(signal: NodeJS.Signals): Promise<number | null> {
    const running = child
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return null
    isEnding = true
    const ended = once(running, 'exit')
    running.kill(signal)
    running.kill('SIGCONT')
    await ended
    return running.exitCode
  }

  return {
    name,
    url,
    roles,
    output: () => text,
    async start() {
      isEnding = false
      const args = ['--port', String(port), '--data-dir', join(directory, name)]
      const started = spawn(process.execPath, [START, ...args], {
        env: { PATH: process.env['PATH'], ROLES: roles, ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      for (const stream of [started.stdout, started.stderr]) {
        stream.setEncoding('utf8').on('data', (chunk: string) => {
          text = (text + chunk).slice(-100_000)
        })
      }
      started.on('exit', (code, signal) => {
        if (child === started && !isEnding)
          endedItself(`${name} ended with ${code ?? signal}: ${text.slice(-500)}`)
      })
      child = started
      await untilReady()
    },
    kill: async () => void (await end('SIGKILL')),
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    async stop() {
      const began = performance.now()
      const late = setTimeout(() => child?.kill('SIGKILL'), 3 * STOP_WITHIN_MS)
      const code = await end('SIGTERM')
      clearTimeout(late)
      return { tookMs: performance.now() - began, code }
    },
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { freePort } from '../../testing/servers/server-port.ts'
import { mountDisk, type OwnDisk } from './own-disk.ts'

const START = join(import.meta.dirname, '../../services/start.js')
const OWN_CLOCK = pathToFileURL(join(import.meta.dirname, 'own-clock.ts')).href
/** Eight processes that start at once on a busy machine take their time. */
const READY_WITHIN_MS = 180_000
const STOP_WITHIN_MS = 10_000
/** How long whoever looks after processes waits before one that ended at its start is started again. */
const AGAIN_AFTER_MS = 1_000
/** Exit codes of a start that found the log, the bus or the cache away: whoever looks after processes starts it again. */
const SERVER_AWAY: ReadonlySet<number | null> = new Set([5, 9])

/** One process of the service, under a name. */
export interface Member {
  readonly name: string
  /** Its address for callers; without the api role, for health checks alone. */
  readonly url: string
  readonly roles: string
  readonly answersCallers: boolean
  /** Its settings. */
  readonly options: MemberOptions
  /** Names this process, and none before it; undefined while there is none. */
  readonly pid: () => number | undefined
  /** Its output so far. */
  output(): string
  /** Starts it, again where it found a server away, until it is ready; nothing once `leave` was called. */
  start(): Promise<void>
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>
  /** Stands still, and goes on. */
  freeze(): void
  thaw(): void
  /** Sets its clock: so much ahead of the machine's, milliseconds. */
  setClock(aheadMs: number): void
  /** A disk of its own; undefined where it has none. */
  readonly disk: OwnDisk | undefined
  /** Asks it to stop; the milliseconds that it took, and its exit code. */
  stop(): Promise<{ readonly tookMs: number; readonly code: number | null }>
  /** Ends it for good, and its disk. */
  leave(): Promise<void>
}

export interface MemberOptions {
  readonly name: string
  readonly roles: string
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  /** Whether it gets a small disk of its own, where that can be had. */
  readonly hasOwnDisk?: boolean
  /** Code that is loaded in front of it, as a file: address. */
  readonly preload?: string
}

/** @param endedItself told of a process that ended and was not asked to */
// oxlint-disable-next-line max-lines-per-function -- the commands of a process, over its output and its port
export async function createMember(
  options: MemberOptions,
  endedItself: (what: string) => void,
): Promise<Member> {
  const { name, roles, directory, environment } = options
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const answersCallers = roles.split(',').includes('api')
  const clockFile = join(directory, `${name}.clock`)
  const data = join(directory, name)
  const disk = options.hasOwnDisk === true ? mountDisk(data) : undefined
  let child: ChildProcess | undefined
  let text = ''
  /** Whether its end is asked for, or at least looked after. */
  let isEnding = false
  let isGone = false
  const tail = (): string => text.slice(-500)
  const hasEnded = (one: ChildProcess): boolean => one.exitCode !== null || one.signalCode !== null

  function spawned(): ChildProcess {
    const imports = [OWN_CLOCK, ...(options.preload === undefined ? [] : [options.preload])]
    const started = spawn(
      process.execPath,
      [
        ...imports.flatMap((module) => ['--import', module]),
        START,
        answersCallers ? '--port' : '--health-port',
        String(port),
        '--data-dir',
        data,
      ],
      {
        env: {
          PATH: process.env['PATH'],
          ROLES: roles,
          CLOCK_FILE: clockFile,
          // Who answers callers has an address of its own; who does not is told one.
          ...(!answersCallers && { PUBLIC_URL: 'http://cluster.invalid' }),
          ...environment,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    for (const stream of [started.stdout, started.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text = (text + chunk).slice(-100_000)
      })
    }
    started.on('exit', (code, signal) => {
      if (child === started && !isEnding && !isGone)
        endedItself(`${name} ended with ${code ?? signal}: ${tail()}`)
    })
    return started
  }

  /** Whether it is ready; false where it ended before. @throws Error where neither happens in time */
  async function isReady(running: ChildProcess, until: number): Promise<boolean> {
    let said = 'nothing'
    while (performance.now() < until) {
      if (hasEnded(running) || isGone) return false
      const answer = await fetch(`${url}/readyz`, {
        headers: { authorization: `Bearer ${environment['OPERATOR_TOKEN']}` },
        signal: AbortSignal.timeout(3_000),
      }).catch(() => undefined)
      if (answer?.status === 200) return true
      said = (await answer?.text().catch(() => undefined)) ?? said
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    throw new Error(
      `${name} was not ready within ${READY_WITHIN_MS / 1_000} s; it said ${said}, and wrote ${tail()}`,
    )
  }

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    const running = child
    if (running === undefined || hasEnded(running)) return null
    isEnding = true
    const ended = once(running, 'exit')
    running.kill(signal)
    running.kill('SIGCONT')
    await ended
    return running.exitCode
  }
  const kill = async (): Promise<void> => void (await end('SIGKILL'))

  return {
    name,
    url,
    roles,
    answersCallers,
    options,
    disk,
    pid: () => (child === undefined || hasEnded(child) ? undefined : child.pid),
    output: () => text,
    async start() {
      const until = performance.now() + READY_WITHIN_MS
      // oxlint-disable-next-line no-unmodified-loop-condition -- `leave` changes it
      while (!isGone) {
        // An end at the start is told of by whoever started it.
        isEnding = true
        const running = spawned()
        child = running
        if (await isReady(running, until)) {
          isEnding = false
          return
        }
        if (isGone) return
        if (!SERVER_AWAY.has(running.exitCode))
          throw new Error(`${name} ended at its start with ${running.exitCode}: ${tail()}`)
        await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS))
      }
    },
    kill,
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    setClock(aheadMs) {
      // In one step, so that nobody reads half of it.
      writeFileSync(`${clockFile}.new`, String(aheadMs))
      renameSync(`${clockFile}.new`, clockFile)
    },
    async stop() {
      const began = performance.now()
      const late = setTimeout(() => child?.kill('SIGKILL'), 3 * STOP_WITHIN_MS)
      const code = await end('SIGTERM')
      clearTimeout(late)
      return { tookMs: performance.now() - began, code }
    },
    async leave() {
      isGone = true
      await kill()
      disk?.close()
    },
  }
}

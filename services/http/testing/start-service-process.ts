import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const START = resolve(import.meta.dirname, '../../start.js')

/** The service as a user starts it, with a data folder of its own. */
export interface ServiceProcess {
  readonly url: string
  readonly pid: number
  readonly dataDirectory: string
  /** Undefined while it runs. */
  exitCode(): number | null | undefined
  /** Its standard error so far. */
  log(): string
  /** Its standard output so far. */
  output(): string
  /** Ends it as an operator does, and answers its exit code. */
  stop(): Promise<number | null>
  /** Ends it as a loss of power does. */
  kill(): Promise<number | null>
  /** Removes the data folder; after `stop`. */
  remove(): void
}

/**
 * @param given a data folder instead of a new one, a port instead of any that is free, and more flags
 * @throws Error with its output, when it ends before it listens
 */
export async function startServiceProcess(
  environment: NodeJS.ProcessEnv,
  given: { readonly dataDirectory?: string; readonly port?: string; readonly flags?: readonly string[] } = {},
): Promise<ServiceProcess> {
  const { dataDirectory = mkdtempSync(join(tmpdir(), 'service-')), port = '0', flags = [] } = given
  const child = spawn(process.execPath, [START, '--port', port, '--data-dir', dataDirectory, ...flags], {
    env: { PATH: process.env.PATH, FRESH: 'true', LOG_LEVEL: 'error', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let log = ''
  let code: number | null | undefined
  const ended = once(child, 'close').then(() => (code = child.exitCode))
  child.stderr.setEncoding('utf8').on('data', (chunk) => (log += String(chunk)))
  const listening = new Promise<string>((found) => {
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      out += String(chunk)
      const url = /(http:\/\/127\.0\.0\.1:\d+)\/ +the board/.exec(out)?.[1]
      if (url !== undefined) found(url)
    })
  })
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (code === undefined) child.kill(signal)
    return ended
  }
  const remove = (): void => rmSync(dataDirectory, { recursive: true, force: true })
  const url = await Promise.race([listening, ended.then(() => undefined)])
  if (url === undefined || child.pid === undefined) {
    if (given.dataDirectory === undefined) remove()
    throw new Error(`the service ended before it listened: ${out}${log}`)
  }
  return {
    url,
    pid: child.pid,
    dataDirectory,
    exitCode: () => code,
    log: () => log,
    output: () => out,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    remove,
  }
}

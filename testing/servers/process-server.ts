import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, waitUntilAnswering } from './server-port.ts'
import type { ServerKind, TestServer } from './test-server.ts'

/** Attempts at a free port: between finding one and listening on it, another process may take it. */
const PORT_ATTEMPTS = 3

/** Starts a server binary on a free loopback port with a temporary directory of its own. */
export async function startProcessServer(kind: ServerKind, binary: string): Promise<TestServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnPort(kind, binary, await freePort())
    } catch (error) {
      if (attempt === PORT_ATTEMPTS) throw error
    }
  }
}

async function startOnPort(kind: ServerKind, binary: string, port: number): Promise<TestServer> {
  const dataDirectory = await mkdtemp(join(tmpdir(), `${kind.binary}-test-`))
  const removeData = () => rm(dataDirectory, { recursive: true, force: true })
  const launch = async (): Promise<ChildProcess> => {
    const child = spawn(binary, kind.arguments({ port, dataDirectory }), { stdio: 'ignore' })
    await answering(kind, port, child)
    return child
  }

  let child = await launch().catch(async (error: unknown) => {
    await removeData()
    throw error
  })
  // A test run that ends in the middle leaves no server behind.
  const killOnExit = (): void => {
    child.kill('SIGKILL')
  }
  process.once('exit', killOnExit)

  return {
    url: kind.url(port),
    kill: () => endProcess(child),
    freeze: async () => void child.kill('SIGSTOP'),
    thaw: async () => void child.kill('SIGCONT'),
    async restart() {
      await endProcess(child)
      child = await launch()
    },
    async stop() {
      process.off('exit', killOnExit)
      await endProcess(child)
      await removeData()
    },
  }
}

/** Resolves when the server answers; a process that ends before is reported instead of waited for. */
async function answering(kind: ServerKind, port: number, child: ChildProcess): Promise<void> {
  const giveUp = new AbortController()
  const ended = new Promise<never>((_resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      reject(new Error(`${kind.binary} ended with ${code ?? signal} before it answered on port ${port}`)),
    )
  })
  try {
    await Promise.race([ended, waitUntilAnswering(kind, port, giveUp.signal)])
  } catch (error) {
    await endProcess(child)
    throw error
  } finally {
    giveUp.abort()
  }
}

async function endProcess(child: ChildProcess): Promise<void> {
  const running = child.pid !== undefined && child.exitCode === null && child.signalCode === null
  if (!running) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

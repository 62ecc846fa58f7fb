import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { hasContainerEngine, startContainerServer } from './container-server.ts'
import { startProcessServer } from './process-server.ts'
import type { ServerKind, TestServer, TestServers, TestServersOptions } from './test-server.ts'

/** A server named by the environment, else the binary on PATH, else a container, else the reason for none. */
export async function findTestServers(kind: ServerKind, options: TestServersOptions): Promise<TestServers> {
  const url = process.env[kind.urlVariable]
  if (!options.killable && url !== undefined && url !== '') {
    return { missing: undefined, start: async () => borrowedServer(kind, url) }
  }
  const binary = await findOnPath(kind.binary)
  if (binary !== undefined) return { missing: undefined, start: () => startProcessServer(kind, binary) }
  if (await hasContainerEngine()) return { missing: undefined, start: () => startContainerServer(kind) }

  const also = options.killable ? '' : `, ${kind.urlVariable} is not set`
  const missing = ` (skipped: no ${kind.binary} on PATH, no container engine${also})`
  return { missing, start: () => Promise.reject(new Error(`no ${kind.name}${missing}`)) }
}

async function findOnPath(binary: string): Promise<string | undefined> {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(directory, binary)
    const executable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (directory !== '' && executable) return path
  }
  return undefined
}

function borrowedServer(kind: ServerKind, url: string): TestServer {
  const refuse = (): Promise<never> =>
    Promise.reject(
      new Error(`the server in ${kind.urlVariable} is not this test's to end; ask for a killable one`),
    )
  return { url, kill: refuse, freeze: refuse, thaw: refuse, restart: refuse, stop: () => Promise.resolve() }
}

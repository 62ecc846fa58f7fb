import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import { VerdictRecorded } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { latestVerdicts } from '../../../projections/index.ts'
import { freePort } from '../../../testing/servers/server-port.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { anEvent, collect } from '../event-store.contract.ts'
import { startProjector } from '../projector/projector.ts'
import { openRowTables } from '../projector/row-tables.ts'
import { openEventStoreDbStore } from './eventstoredb-store.ts'

/**
 * The instructions of docs/running.md for operators, carried out on a node: certificates, a user with the least rights, a scavenge, a
 * restore. EVENTSTORE_NODE is the command that starts one (`dotnet /path/EventStore.ClusterNode.dll`).
 */
const COMMAND = process.env['EVENTSTORE_NODE']
const HOST = '127.0.0.1'
const ROOT = join(import.meta.dirname, '../../..')
const PASSWORD = 'a-password-of-tests'
const NEVER = new AbortController().signal

describe.skipIf(COMMAND === undefined)('a node of EventStoreDB, with EVENTSTORE_NODE', () => {
  let folder: string
  let port: number
  let node: ChildProcess | undefined
  const file = (name: string): string => join(folder, name)
  const urlOf = (user: string, password = PASSWORD): string =>
    `esdb://${user}:${password}@${HOST}:${port}?tls=true&tlsCaFile=${file('certs/authority/ca.crt')}`
  const as = (user: string, password = PASSWORD) =>
    openEventStoreDbStore({ connectionString: urlOf(user, password) })

  async function admin(method: string, path: string, body?: object): Promise<number> {
    const call = request(`https://${HOST}:${port}${path}`, {
      method,
      ca: readFileSync(file('certs/authority/ca.crt')),
      auth: 'admin:changeit',
      headers: {
        'content-type': 'application/json',
        'content-length': body === undefined ? 0 : Buffer.byteLength(JSON.stringify(body)),
      },
    })
    call.end(body === undefined ? undefined : JSON.stringify(body))
    const [answer] = (await once(call, 'response')) as [NodeJS.ReadableStream & { statusCode?: number }]
    await text(answer)
    return answer.statusCode ?? 0
  }

  async function startNode(db = file('db')): Promise<void> {
    const [command = '', ...args] = (COMMAND ?? '').split(' ')
    const at = file('certs')
    const options = {
      'node-ip': HOST,
      'node-port': String(port),
      'replication-port': String(await freePort()),
      db,
      log: file('log'),
      'run-projections': 'None',
      'certificate-file': `${at}/node.crt`,
      'certificate-private-key-file': `${at}/node.key`,
      'trusted-root-certificates-path': `${at}/authority`,
    }
    const flags = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
    node = spawn(command, [...args, ...flags], {
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], HOME: folder },
    })
    while ((await admin('GET', '/health/live').catch(() => 0)) !== 204) {
      if (node.exitCode !== null) throw new Error(`the node ended with ${node.exitCode}; see ${file('log')}`)
      await sleep(200, NEVER)
    }
  }
  async function stopNode(): Promise<void> {
    const running = node
    node = undefined
    if (running === undefined || running.exitCode !== null) return
    const ended = once(running, 'exit')
    running.kill('SIGTERM')
    await ended
  }
  const onDisk = (words: string): boolean =>
    readdirSync(file('db')).some(
      (name) => name.startsWith('chunk-') && readFileSync(file(`db/${name}`)).includes(words),
    )

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'store-node-'))
    port = await freePort()
    execFileSync(join(ROOT, 'deploy/eventstoredb-certificates.sh'), [file('certs'), HOST, 'localhost'], {
      stdio: 'ignore',
    })
    await startNode()
    for (const loginName of ['signal', 'somebody']) {
      while (
        (await admin('POST', '/users/', {
          loginName,
          fullName: loginName,
          groups: [],
          password: PASSWORD,
        })) !== 201
      )
        await sleep(500, NEVER)
    }
    execFileSync('npm', ['run', '-s', 'store:rights', '--', 'signal'], {
      cwd: ROOT,
      env: { ...process.env, EVENTSTORE_URL: urlOf('admin', 'changeit') },
    })
  }, 180_000)
  afterAll(async () => {
    await stopNode()
    rmSync(folder, { recursive: true, force: true })
  })

  test('lets the user of the service do what it does, and nobody else', async () => {
    const own = as('signal')
    await own.append('s-1', [anEvent()], { expected: 'no-stream' })
    expect(await collect(own.readAll())).toHaveLength(1)
    const denied = { code: 'store_denied' }
    const other = as('somebody')
    await expect(collect(other.readAll())).rejects.toMatchObject(denied)
    await expect(collect(other.read('s-1'))).rejects.toMatchObject(denied)
    await expect(other.append('s-2', [anEvent()], { expected: 'no-stream' })).rejects.toMatchObject(denied)
    await expect(as('signal', 'wrong').head()).rejects.toMatchObject(denied)
    await Promise.all([own.close(), other.close()])
  }, 60_000)

  test('keeps nothing on its disk of what was erased and scavenged', async () => {
    const store = as('signal')
    const secret = 'wrapped-key-of-somebody'
    await store.append('subject-1.0', [anEvent({ secret })], { expected: 'no-stream' })
    expect(onDisk(secret)).toBe(true)
    await store.erase('subject-1.0')
    expect(await admin('POST', '/admin/scavenge')).toBe(200)
    await expect.poll(() => onDisk(secret), { timeout: 60_000, interval: 500 }).toBe(false)
    await store.close()
  }, 90_000)

  test('restored from a copy has read models that are built anew', async () => {
    const verdictOf = (coin: string) => {
      const id = crypto.randomUUID()
      const data = aVerdict({ verdictId: id, coin })
      return newEvent(VerdictRecorded, { id, data, meta: { correlationId: id, actor: 'test' } })
    }
    const modelsOf = async (): Promise<readonly string[]> => {
      const store = as('signal')
      const tables = openRowTables(file('projections.db'), 'log')
      const projector = startProjector({ store, tables, projections: [latestVerdicts], sleep })
      await projector.caughtUp()
      const keys = projector
        .reader(latestVerdicts)
        .range({ limit: 10 })
        .map(({ key }) => key.split('.')[1] ?? '')
      await projector.close()
      await store.close()
      return keys
    }
    const record = async (coin: string): Promise<void> => {
      const store = as('signal')
      await store.append(`verdict-SIM.${coin}.1h`, [verdictOf(coin)], { expected: 'no-stream' })
      await store.close()
    }
    await record('BTC')
    await stopNode()
    cpSync(file('db'), file('copy'), { recursive: true })
    await startNode()
    await record('LOST')
    expect(await modelsOf()).toEqual(['BTC', 'LOST'])
    await stopNode()
    rmSync(file('db'), { recursive: true })
    cpSync(file('copy'), file('db'), { recursive: true })
    await startNode()
    await record('NEW')
    expect(await modelsOf()).toEqual(['BTC', 'NEW'])
  }, 180_000)

  test('ends on a full disk, and has everything that it confirmed, once, when there is room and it is started again', async (context) => {
    const disk = file('disk')
    // It throws: nothing of what follows is done.
    if (!isMounted(disk)) context.skip('this user may not mount a file system')
    try {
      await stopNode()
      await startNode(join(disk, 'db'))
      const store = as('admin', 'changeit')
      const confirmed: string[] = []
      const padding = 'x'.repeat(100_000)
      const appendOne = async (event = anEvent({ padding })): Promise<void> => {
        await store.append(`s-${event.id}`, [event], { expected: 'no-stream' })
        confirmed.push(event.id)
      }
      await expect
        .poll(
          () =>
            appendOne().then(
              () => true,
              () => false,
            ),
          { timeout: 30_000 },
        )
        .toBe(true)
      fill(join(disk, 'filling'))
      const ended = node && once(node, 'exit')
      let refusal: unknown
      let last = anEvent({ padding })
      while (refusal === undefined) {
        last = anEvent({ padding })
        refusal = await appendOne(last).then(
          () => undefined,
          (error: unknown) => error,
        )
      }
      expect(['store_unavailable', 'append_unknown']).toContain((refusal as { code?: string }).code)
      await ended
      rmSync(join(disk, 'filling'))
      await startNode(join(disk, 'db'))
      await expect
        .poll(
          () =>
            appendOne(last).then(
              () => true,
              () => false,
            ),
          { timeout: 60_000 },
        )
        .toBe(true)
      const found = (await collect(store.readAll())).map(({ id }) => id)
      expect(found.toSorted()).toEqual(confirmed.toSorted())
      await store.close()
    } finally {
      await stopNode()
      execFileSync('umount', ['-l', disk])
    }
  }, 180_000)
})

/** A file system of its own, where this user may mount one: a node of 24.10 may take 268 MB of it at each start. */
function isMounted(folder: string): boolean {
  mkdirSync(folder)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1g', 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Leaves no room on the disk of a file. */
function fill(path: string): void {
  try {
    execFileSync('dd', ['if=/dev/zero', `of=${path}`, 'bs=4k'], { stdio: 'ignore' })
  } catch {
    // It ends because there is no room left, which is what it is for.
  }
}

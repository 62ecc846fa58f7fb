import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CHATS_PER_WINDOW } from '../../contracts/answers/knowledge.ts'
import { decodeEvent } from '../../contracts/events/event-catalogue.ts'
import { openEmbeddedStore } from '../log/embedded/embedded-store.ts'

/** How often the server is killed under load; more for a longer look: `CHAT_KILLS=50`. */
const KILLS = Number(process.env.CHAT_KILLS ?? 3)
const ANSWERS_BEFORE_A_KILL = 5
const AT_ONCE = 6
const LIMIT = CHATS_PER_WINDOW.starter

let folder: string
let servers: ChildProcess[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chat-crash-'))
  writeFileSync(join(folder, 'quotas.md'), '# Quotas\n\nEvery answered call counts one of the quota.\n')
  servers = []
})
afterEach(async () => {
  await Promise.all(servers.map(kill))
  rmSync(folder, { recursive: true, force: true })
})

async function start(): Promise<{ readonly server: ChildProcess; readonly url: string }> {
  const server = fork(join(import.meta.dirname, 'testing/chat-server.ts'), [join(folder, 'data'), folder])
  servers.push(server)
  const [{ port }] = (await once(server, 'message')) as [{ port: number }]
  return { server, url: `http://127.0.0.1:${port}` }
}

async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const ended = once(server, 'exit')
  server.kill('SIGKILL')
  await ended
}

interface Told {
  readonly status: number
  readonly answer: string
}

/** Undefined where the connection broke before there was an answer. */
async function ask(url: string, key: string): Promise<Told | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'idempotency-key': key },
      body: JSON.stringify({ question: 'What counts of the quota?' }),
    })
    const body = (await response.json()) as { answer?: string }
    return { status: response.status, answer: body.answer ?? '' }
  } catch {
    // The server was killed meanwhile: that is what is tested.
    return undefined
  }
}

test('no answer that was given is lost or counted twice by kill -9, and no more are given than there are', async () => {
  const told = new Map<string, string>()
  let serial = 0

  /** Asks on and on with new keys until the server is gone or has no more. */
  async function client(url: string, onAnswer: () => void): Promise<void> {
    for (;;) {
      const key = `key-${serial++}`
      const outcome = await ask(url, key)
      if (outcome === undefined || outcome.status === 429) return
      if (outcome.status !== 200) throw new Error(`status ${outcome.status}`)
      told.set(key, outcome.answer)
      onAnswer()
    }
  }

  for (let round = 0; round < KILLS; round++) {
    const { server, url } = await start()
    let answers = 0
    await Promise.all(
      Array.from({ length: AT_ONCE }, () =>
        client(url, () => {
          answers += 1
          if (answers === ANSWERS_BEFORE_A_KILL) server.kill('SIGKILL')
        }),
      ),
    )
    await kill(server)
  }
  expect(told.size).toBeGreaterThanOrEqual(KILLS * ANSWERS_BEFORE_A_KILL)

  // Whoever has an answer gets the same again, and whoever was cut off is counted once.
  const { server, url } = await start()
  for (const [key, answer] of told) expect(await ask(url, key)).toEqual({ status: 200, answer })
  await Promise.all(Array.from({ length: AT_ONCE }, () => client(url, () => undefined)))
  await kill(server)

  const store = await openEmbeddedStore({ directory: join(folder, 'data'), now: Date.now })
  const used: number[] = []
  const byKey = new Map<string | null, string>()
  for await (const recorded of store.readAll({ filter: { types: ['ChatAnswered'] } })) {
    const event = decodeEvent(recorded)
    if (event.type !== 'ChatAnswered') continue
    used.push(event.data.used)
    expect(byKey.has(event.data.idempotencyHash)).toBe(false)
    byKey.set(event.data.idempotencyHash, (JSON.parse(event.data.answer) as { answer: string }).answer)
  }
  await store.close()
  expect(used).toEqual(Array.from({ length: used.length }, (_, n) => n + 1))
  expect(used.length).toBeLessThanOrEqual(LIMIT)
  const kept = new Set(byKey.values())
  expect([...told.values()].filter((answer) => !kept.has(answer))).toEqual([])
}, 30_000)

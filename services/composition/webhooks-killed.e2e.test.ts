import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ServiceProcess, startServiceProcess } from '../http/testing/start-service-process.ts'

const OPERATOR_TOKEN = 'operator-token-for-tests'
/** After how many more deliveries to the endpoint that works the process is killed. */
const KILLS = [23, 9, 41]
const NAMES = ['fine', 'down', 'hanging', 'flapping'] as const

interface Taken {
  readonly id: string
  readonly sequence: number
  readonly body: string
  readonly isAccepted: boolean
}

let directory: string
let service: ServiceProcess | undefined
let base = ''
let areWell = false
let posts = 0
const taken = new Map<string, Taken[]>()
const watchers = new Set<() => void>()

/** The reaction of an endpoint to a POST, until all are well. */
function answer(name: string, response: ServerResponse): boolean {
  posts += 1
  if (areWell || name === 'fine' || (name === 'flapping' && posts % 3 === 0)) {
    response.end()
    return true
  }
  if (name === 'flapping') response.writeHead(503).end()
  if (name === 'down') response.destroy()
  return false
}

const receiver = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const name = (request.url ?? '').slice(1)
    const isAccepted = answer(name, response)
    const body = Buffer.concat(chunks).toString()
    const { sequence } = JSON.parse(body) as { sequence?: number }
    const id = String(request.headers['x-service-delivery'])
    // Notices about the other endpoints have no number.
    if (sequence === undefined) return
    taken.set(name, [...(taken.get(name) ?? []), { id, sequence, body, isAccepted }])
    for (const watch of watchers) watch()
  })
})

const until = (holds: () => boolean): Promise<void> =>
  new Promise((resolve) => {
    const watch = (): void => {
      if (!holds()) return
      watchers.delete(watch)
      resolve()
    }
    watchers.add(watch)
    watch()
  })

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'webhooks-killed-'))
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
})
afterEach(async () => {
  await service?.kill()
  receiver.close()
  receiver.closeAllConnections()
  rmSync(directory, { recursive: true, force: true })
})

async function start(): Promise<void> {
  // Bodies hold the address of the service, so it has the same port each time.
  const port = base === '' ? '0' : new URL(base).port
  const flags = ['--speed', '1800', '--webhooks-allow-private']
  const environment = { OPERATOR_TOKEN, TIMEFRAMES: '1m,1h' }
  service = await startServiceProcess(environment, { dataDirectory: directory, port, flags })
  base = service.url
}

async function ask<Body>(method: string, path: string, key: string, body?: object): Promise<Body> {
  const answered = await fetch(`${base}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  expect(answered.status, `${method} ${path}: ${answered.ok ? '' : await answered.text()}`).toBeLessThan(300)
  return (await answered.json()) as Body
}

/** Everything that the log has for a subscription, by its number. */
async function pull(key: string, id: string): Promise<Map<number, string>> {
  const events = new Map<number, string>()
  for (let after: string | null = '0'; after !== null; ) {
    const path: string = `/api/webhooks/${id}/events?limit=100&after=${encodeURIComponent(after)}`
    const page: { events: { sequence: number }[]; next: string | null } = await ask('GET', path, key)
    for (const event of page.events) events.set(event.sequence, JSON.stringify(event))
    after = page.next
  }
  return events
}

const accepted = (name: string): Map<number, Taken> =>
  new Map((taken.get(name) ?? []).filter(({ isAccepted }) => isAccepted).map((one) => [one.sequence, one]))

test(`the service killed ${KILLS.length} times: whoever recovers has everything, with one id and one body each`, async () => {
  await start()
  const { key } = await ask<{ key: string }>('POST', '/operator/keys', OPERATOR_TOKEN, { tier: 'starter' })
  const { port } = receiver.address() as AddressInfo
  const ids = new Map<string, string>()
  for (const name of NAMES) {
    const wanted = { url: `http://127.0.0.1:${port}/${name}`, events: ['trade_call', 'regime_shift'] }
    ids.set(name, (await ask<{ id: string }>('POST', '/api/webhooks', key, wanted)).id)
  }
  for (const more of KILLS) {
    const before = accepted('fine').size
    await until(() => accepted('fine').size >= before + more)
    await service?.kill()
    await start()
  }
  areWell = true
  // Keys are checked once their read model follows the log again.
  await expect.poll(async () => (await fetch(`${base}/readyz`)).status, { timeout: 30_000 }).toBe(200)
  for (const [name, id] of ids) {
    await ask('POST', `/api/webhooks/${id}/resume`, key)
    // What is fresh may be pulled by an endpoint that takes deliveries, and by no other.
    const sentMeanwhile = KILLS.reduce((sum, more) => sum + more)
    await until(() => accepted(name).size > sentMeanwhile)
    let events = new Map<number, string>()
    // An attempt is in the log shortly after the endpoint had it.
    const size = async (): Promise<number> => (events = await pull(key, id)).size
    await expect.poll(size, { message: name, timeout: 10_000 }).toBeGreaterThan(sentMeanwhile)
    expect([...events.keys()]).toEqual([...events.keys()].map((_, place) => place + 1))
    await until(() => [...events.keys()].every((sequence) => accepted(name).has(sequence)))
    const known = new Map<number, string>()
    for (const { id: deliveryId, sequence, body } of taken.get(name) ?? []) {
      const same = `${deliveryId} ${events.get(sequence) ?? body}`
      expect(`${deliveryId} ${body}`).toBe(same)
      expect(known.get(sequence) ?? same).toBe(same)
      known.set(sequence, same)
    }
  }
}, 120_000)

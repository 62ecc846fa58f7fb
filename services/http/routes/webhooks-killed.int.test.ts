import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { aWebhookEdge } from '../testing/webhook-edge.fixture.ts'

const CHILD = join(import.meta.dirname, '..', 'testing', 'change-webhooks-child.ts')
const KILLS = 5

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'webhooks-killed-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** Runs the process until it has given so many answers, and kills it in the middle of others. */
async function runUntilKilled(answers: number, happened: string[]): Promise<void> {
  const child = spawn(process.execPath, [CHILD, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  let seen = 0
  for await (const line of createInterface({ input: child.stdout })) {
    happened.push(line)
    if (++seen === answers) child.kill('SIGKILL')
  }
  await exited
}

/** Deletes what is there, an hour later: by then what crashes left behind counts for nothing. */
async function deleteAll(): Promise<string[]> {
  const store = await openEmbeddedStore({ directory, now: Date.now })
  const edge = await aWebhookEdge({ store, now: Date.now() + 3_600_000 })
  const { body } = await edge.ask('GET', '/api/webhooks?status=all')
  const ids = (body.webhooks as { id: string }[]).map(({ id }) => id)
  for (const id of ids) expect((await edge.ask('DELETE', `/api/webhooks/${id}`)).status).toBe(204)
  for (let n = 0; n < LIMITS.subscriptionsOnFree; n++) expect((await edge.create()).status).toBe(201)
  expect((await edge.create()).status).toBe(409)
  const again = (await edge.ask('GET', '/api/webhooks?status=all')).body.webhooks as { id: string }[]
  for (const { id } of again) await edge.ask('DELETE', `/api/webhooks/${id}`)
  await edge.close()
  await store.close()
  return ids
}

test(`${KILLS} kills: what was answered stands, no slot is lost, and there are never more than five`, async () => {
  const happened: string[] = []
  const found: string[] = []
  for (let run = 0; run < KILLS; run++) {
    await runUntilKilled(3 + ((run * 7) % 11), happened)
    found.push(...(await deleteAll()))
  }
  const deleted = new Set(happened.filter((line) => line.startsWith('deleted')).map((line) => line.slice(8)))
  const created = happened.filter((line) => line.startsWith('created')).map((line) => line.slice(8))
  // Of those whose deletion was not answered it is not known whether it happened.
  const store = await openEmbeddedStore({ directory, now: Date.now })
  const [taken, removed] = [new Set<string>(), new Set<string>()]
  const types = [
    'SubscriptionSlotTaken',
    'SubscriptionSlotFreed',
    'SubscriptionCreated',
    'SubscriptionRemoved',
  ]
  const begun = new Set<string>()
  for await (const recorded of store.readAll({ filter: { types } })) {
    const event = decodeEvent(recorded)
    const { subscriptionId: id } = event.data as { subscriptionId: string }
    if (event.type === 'SubscriptionSlotTaken') taken.add(id)
    if (event.type === 'SubscriptionSlotFreed') taken.delete(id)
    if (event.type === 'SubscriptionCreated') {
      expect(taken).toContain(id)
      begun.add(id)
    }
    if (event.type === 'SubscriptionRemoved') removed.add(id)
    expect(taken.size).toBeLessThanOrEqual(LIMITS.subscriptionsOnFree)
  }
  await store.close()
  expect(created.length).toBeGreaterThan(KILLS)
  for (const id of created) {
    expect(begun).toContain(id)
    if (!deleted.has(id)) expect(found.includes(id) || removed.has(id)).toBe(true)
  }
  for (const id of deleted) {
    expect(removed).toContain(id)
    expect(found).not.toContain(id)
  }
  expect([...taken]).toEqual([])
})

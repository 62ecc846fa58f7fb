import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { OperatorSubscription } from '../../../contracts/answers/webhook.ts'
import { type OwnerSocket, openOwnerSocket } from '../../composition/adapters/owner-socket.ts'
import { aWebhookEdge, NOBODYS, type WebhookEdge } from '../../http/testing/webhook-edge.fixture.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'

let folder: string
let edge: WebhookEdge
let socket: OwnerSocket | undefined

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'webhooks-'))
  mkdirSync(join(folder, 'simulated'))
  edge = await aWebhookEdge()
  socket = await openOwnerSocket(edge.app, join(folder, 'simulated'), { warn: () => undefined } as never)
})
afterEach(async () => {
  await socket?.close()
  await edge.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a command of the command line against the folder of the service. */
const signal = (...args: readonly string[]) => runSignal('webhooks', ...args, '--data-dir', folder)

test('the operator lists, shows, stops and allows subscriptions, and never sees their addresses', async () => {
  const ids = [await edge.createId(), await edge.createId()].toSorted()
  const listed = async (): Promise<OperatorSubscription[]> => {
    const { out } = await signal('list')
    return out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as OperatorSubscription)
  }
  await expect.poll(async () => (await listed()).map(({ id }) => id)).toEqual(ids)
  const [id = ''] = ids
  const shown = await signal('show', id)
  expect(JSON.parse(shown.out)).toMatchObject({ origin: 'https://bot.example.com', state: 'active' })
  const stopped = await signal('stop', id, '--reason', 'complaints')
  expect(JSON.parse(stopped.out)).toMatchObject({
    state: 'stopped',
    reason: 'stopped by the operator: complaints',
  })
  expect(JSON.parse((await signal('allow', id)).out)).toMatchObject({ state: 'paused' })
  for (const { out } of [shown, stopped, await signal('list')]) expect(out).not.toContain('/hook')
})

test('what is no subscription, or no id, is said to be none', async () => {
  const unknown = await signal('show', NOBODYS)
  expect(unknown.code).not.toBe(0)
  expect(unknown.err).toContain('not_found')
  expect((await signal('show', 'mine')).err).toContain('no UUID')
  expect((await signal('stop', 'bot.example.com')).err).toContain('no UUID')
})

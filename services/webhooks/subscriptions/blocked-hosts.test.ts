import { expect, test } from 'vitest'
import { codeOf } from '../../../contracts/code-of.fixture.ts'
import { createMemoryLog, openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { createEgressGuard } from '../sending/egress-guard.ts'
import { createGuardedSender } from '../sending/guarded-sender.ts'
import { type BlockedHosts, createBlockedHosts } from './blocked-hosts.ts'

const ORIGIN = { correlationId: 'request', actor: 'operator' }

function processes() {
  const log = createMemoryLog()
  const start = (): BlockedHosts =>
    createBlockedHosts({
      store: openMemoryStore({ now: () => 1_000, log }),
      newId: () => crypto.randomUUID(),
      now: () => 1_000,
      sleep: async () => undefined,
      signal: new AbortController().signal,
      report: () => undefined,
    })
  return { log, start }
}

test('a name stands for itself and all below it, an address for itself', async () => {
  const hosts = processes().start()
  for (const host of ['Example.COM.', '203.0.113.7', '2001:DB8::1']) await hosts.block(host, 'why', ORIGIN)
  const asked = [
    ['example.com', true],
    ['a.b.example.com', true],
    ['notexample.com', false],
    ['com', false],
    ['203.0.113.7', true],
    ['2001:db8::1', true],
    ['2001:db8::2', false],
  ] as const
  for (const [host, isBlocked] of asked) expect([host, hosts.isBlocked(host)]).toEqual([host, isBlocked])
  expect((await hosts.list()).map(({ host }) => host)).toEqual(['2001:db8::1', '203.0.113.7', 'example.com'])
})

test('what one process blocks or allows another one knows once it looks, and twice is once', async () => {
  const { log, start } = processes()
  const [here, there] = [start(), start()]
  await here.block('bot.example.com', 'first', ORIGIN)
  await there.block('bot.example.com', 'second', ORIGIN)
  expect(await there.list()).toMatchObject([{ host: 'bot.example.com', reason: 'first' }])
  await there.allow('bot.example.com', 'cleared', ORIGIN)
  await here.allow('bot.example.com', 'cleared', ORIGIN)
  expect(here.isBlocked('bot.example.com')).toBe(false)
  expect(log.rows).toHaveLength(2)
})

test.each([
  '',
  'https://a.example',
  'a.example:8443',
  'a example',
  'user@a.example',
  'a.example/x',
  'x'.repeat(300),
])('what is no host is refused: %j', async (text) => {
  expect(await codeOf(processes().start().block(text, 'why', ORIGIN))).toBe('invalid_request')
})

test('nothing is sent to what was blocked since it was checked, by its name or by where that points', async () => {
  const hosts = processes().start()
  const guard = createEgressGuard({
    allowPrivate: false,
    ownHosts: [],
    isBlocked: (host) => hosts.isBlocked(host),
    resolve: async () => [{ address: '93.184.215.14', family: 4 }],
  })
  const sender = createGuardedSender({ guard, now: Date.now, connectMs: 50, attemptMs: 50 })
  const url = 'https://bot.example.com/hook'
  const send = () => sender.send({ url, headers: {}, body: Buffer.from('{}') })
  await guard.checkReachable(url)
  expect((await send()).kind).not.toBe('url_refused')
  await hosts.block('example.com', 'why', ORIGIN)
  expect(await send()).toMatchObject({ kind: 'url_refused', detail: expect.stringContaining('operator') })
  expect(await codeOf(guard.checkReachable(url))).toBe('url_refused')
  await hosts.allow('example.com', 'cleared', ORIGIN)
  expect((await send()).kind).not.toBe('url_refused')
  await hosts.block('93.184.215.14', 'why', ORIGIN)
  expect(await codeOf(guard.checkReachable(url))).toBe('url_refused')
  expect(guard.admits('93.184.215.14')).toBe(false)
  await sender.close()
})

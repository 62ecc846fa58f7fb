import { expect, test } from 'vitest'
import { codeOf } from '../../../contracts/errors/code-of.fixture.ts'
import { parseHost } from '../../runtime/http/parse-host.ts'
import { createBlockList } from './blocked-hosts.ts'
import { createEgressGuard } from './egress-guard.ts'
import { createGuardedSender } from './guarded-sender.ts'

test('a name stands for itself and all below it, an address for itself', () => {
  const isBlocked = createBlockList(
    ['Example.COM.', '203.0.113.7', '2001:DB8::1'].map((text) => parseHost(text) ?? expect.fail(text)),
  )
  const asked = [
    ['example.com', true],
    ['a.b.example.com', true],
    ['notexample.com', false],
    ['com', false],
    ['203.0.113.7', true],
    ['2001:db8::1', true],
    ['2001:db8::2', false],
  ] as const
  for (const [host, expected] of asked) expect([host, isBlocked(host)]).toEqual([host, expected])
})

test.each(['', 'https://a.example', 'a.example:8443', 'a example', 'user@a.example', 'a.example/x'])(
  'what is no host is none: %j',
  (text) => {
    expect(parseHost(text)).toBeUndefined()
  },
)

test.each([['example.com'], ['93.184.215.14']])(
  'nothing is sent to %s, by its name or by where that points',
  async (blocked) => {
    const guard = createEgressGuard({
      allowPrivate: false,
      ownHosts: [],
      isBlocked: createBlockList([blocked]),
      resolve: async () => [{ address: '93.184.215.14', family: 4 }],
    })
    const sender = createGuardedSender({ guard, now: Date.now, connectMs: 50, attemptMs: 50 })
    const url = 'https://bot.example.com/hook'
    expect(await sender.send({ url, headers: {}, body: Buffer.from('{}') })).toMatchObject({
      kind: 'url_refused',
      detail: expect.stringContaining('operator'),
    })
    expect(await codeOf(guard.checkReachable(url))).toBe('url_refused')
    await sender.close()
  },
)

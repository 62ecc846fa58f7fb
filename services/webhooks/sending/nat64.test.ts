import { expect, test } from 'vitest'
import { codeOf } from '../../../contracts/errors/code-of.fixture.ts'
import { createEgressGuard } from './egress-guard.ts'

/** A guard in a network that answers so for every name, and so for the name that has addresses of IPv4 alone. */
const guardOf = (answer: readonly string[], ipv4Only: readonly string[] = [], blocked = '') =>
  createEgressGuard({
    allowPrivate: false,
    ownHosts: [],
    isBlocked: (host) => host === blocked,
    resolve: async (name) =>
      (name === 'ipv4only.arpa' ? ipv4Only : answer).map((address) => ({
        address,
        family: address.includes(':') ? 6 : 4,
      })),
  })
const decided = (...[answer, ...rest]: Parameters<typeof guardOf>) =>
  codeOf(guardOf(answer, ...rest).checkReachable('https://bot.example.org/hook'))

test.each([[['8.8.8.8']], [['64:ff9b::808:808']], [['8.8.8.8', '64:ff9b::808:808']]])(
  'a public receiver is reached from a network of IPv6 alone by %j',
  async (answer) => {
    expect(await decided(answer)).toBe('none')
  },
)

test.each([
  '64:ff9b::a9fe:a9fe',
  '64:ff9b::7f00:1',
  '64:ff9b::a00:1',
  '64:ff9b::a83f:8110',
  '64:ff9b:1::808:808',
])('%s embeds an address that is not public, and is refused', async (address) => {
  expect(await decided([address])).toBe('url_refused')
  expect(guardOf([]).admits(address)).toBe(false)
})

/** By length of the prefix: 192.0.0.170, 8.8.8.8 and 169.254.169.254 behind one of a provider. */
test.each([
  [96, '2a00:1::c000:aa', '2a00:1::808:808', '2a00:1::a9fe:a9fe'],
  [64, '2a00:1:2:3:c0:0:aa00:0', '2a00:1:2:3:8:808:800:0', '2a00:1:2:3:a9:fea9:fe00:0'],
  [56, '2a00:1:2:3c0:0:aa::', '2a00:1:2:308:8:808::', '2a00:1:2:3a9:fe:a9fe::'],
  [48, '2a00:1:2:c000:0:aa00::', '2a00:1:2:808:8:800::', '2a00:1:2:a9fe:a9:fe00::'],
  [40, '2a00:1:1c0:0:aa::', '2a00:1:108:808:8::', '2a00:1:1a9:fea9:fe::'],
  [32, '2a00:1:c000:aa::', '2a00:1:808:808::', '2a00:1:a9fe:a9fe::'],
])('behind a prefix of %i bits of this network the embedded address is judged', async (_bits, ...forms) => {
  const [ipv4Only, open, hidden] = forms
  expect(await decided([open], [ipv4Only])).toBe('none')
  expect(await decided([hidden], [ipv4Only])).toBe('url_refused')
  expect(await decided(['8.8.8.8', hidden], [ipv4Only])).toBe('url_refused')
  const literal = guardOf([], [ipv4Only]).checkReachable(`https://[${hidden}]/hook`)
  await expect(literal).rejects.toThrow('is not a public one')
  // Elsewhere it is an address like any other.
  expect(await decided([hidden])).toBe('none')
})

test('an address that the operator blocks is blocked behind NAT64 too', async () => {
  expect(await decided(['64:ff9b::808:808'], [], '8.8.8.8')).toBe('url_refused')
})

test('a network that could not be asked is asked again', async () => {
  let asked = 0
  const guard = createEgressGuard({
    allowPrivate: false,
    ownHosts: [],
    async resolve(name) {
      if (name !== 'ipv4only.arpa') return [{ address: '2a00:1::a9fe:a9fe', family: 6 }]
      asked += 1
      if (asked === 1) throw new Error('queryAaaa ETIMEOUT')
      return [{ address: '2a00:1::c000:aa', family: 6 }]
    },
  })
  const codes: string[] = []
  for (let n = 0; n < 3; n++) codes.push(await codeOf(guard.addressesOf('bot.example.org')))
  expect(codes).toEqual(['none', 'url_refused', 'url_refused'])
  expect(asked).toBe(2)
})

import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { codeOf } from '../../../contracts/errors/code-of.fixture.ts'
import type { ServiceError } from '../../../contracts/errors/errors.ts'
import { createEgressGuard, type EgressGuard } from './egress-guard.ts'
import type { NameAddress } from './resolve-name.ts'

const addresses = (texts: readonly string[]): NameAddress[] =>
  texts.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

const PUBLIC = ['93.184.215.14', '2606:2800:21f:cb07::1']

/** @param names what each name stands for, in turn; the last one stays */
function guardOf(names: Record<string, readonly string[][]>, ownHosts: readonly string[] = []): EgressGuard {
  const asked = new Map<string, number>()
  return createEgressGuard({
    allowPrivate: false,
    ownHosts,
    async resolve(hostname) {
      const answers = names[hostname] ?? [PUBLIC]
      const turn = asked.get(hostname) ?? 0
      asked.set(hostname, turn + 1)
      return addresses(answers[Math.min(turn, answers.length - 1)] ?? [])
    },
  })
}

describe('a name', () => {
  test('is taken with all its public addresses', async () => {
    const guard = guardOf({})
    expect((await guard.checkReachable('https://example.com/a')).hostname).toBe('example.com')
    expect(await guard.addressesOf('example.com')).toEqual(addresses(PUBLIC))
  })

  test.each([
    ['loopback', ['127.0.0.1']],
    ['a public and a private address', ['93.184.215.14', '10.0.0.1']],
    ['a public address and a private one of IPv6', ['93.184.215.14', 'fd00::5']],
    ['a private address in the form of IPv6', ['::ffff:10.0.0.1']],
    ['what the cloud serves its machines', ['168.63.129.16']],
    ['something that is no address', ['localhost']],
    ['an address of one interface', ['fe80::1%eth0']],
  ])('that stands for %s is refused, at create and at connect', async (_what, answer) => {
    const guard = guardOf({ 'x.example.com': [answer] })
    expect(await codeOf(guard.checkReachable('https://x.example.com/'))).toBe('url_refused')
    expect(await codeOf(guard.addressesOf('x.example.com'))).toBe('url_refused')
  })

  test('that is refused does not tell what our servers know of it', async () => {
    const guard = guardOf({ 'x.example.com': [['10.20.30.40']] })
    await expect(guard.checkReachable('https://x.example.com/')).rejects.toThrow(
      /^(?!.*10\.20).*not a public one/,
    )
  })

  test('without an address is refused at create, and is an outage at connect', async () => {
    const guard = guardOf({ 'nx.example.com': [[]] })
    expect(await codeOf(guard.checkReachable('https://nx.example.com/'))).toBe('url_refused')
    expect(await codeOf(guard.addressesOf('nx.example.com'))).toBe('Error: nx.example.com has no address')
  })

  test('that cannot be resolved is refused at create with the reason', async () => {
    const guard = createEgressGuard({
      allowPrivate: false,
      ownHosts: [],
      resolve: () => Promise.reject(new Error('queryA ESERVFAIL')),
    })
    await expect(guard.checkReachable('https://example.com/')).rejects.toMatchObject({
      code: 'url_refused',
      message: 'The name example.com cannot be resolved: queryA ESERVFAIL',
    })
  })

  test('is not resolved where the host is an address', async () => {
    const guard = createEgressGuard({
      allowPrivate: false,
      ownHosts: [],
      resolve: async (name) => (name === 'ipv4only.arpa' ? [] : expect.fail('resolved an address')),
    })
    const { hostname } = await guard.checkReachable('https://[2606:4700:4700::1111]/')
    expect(hostname).toBe('2606:4700:4700::1111')
  })
})

/** Addresses and what is to be decided of them: ours, and a longer list that may stand beside the repository. */
const OURS = new URL('../../../fixtures/egress.json', import.meta.url)
const OTHERS = new URL('../../../../shared/cases/egress-urls.json', import.meta.url)

interface EgressCase {
  readonly url: string
  readonly allow: boolean
  readonly why: string
  /** Addresses of the name when the URL is given, and when it is connected to. */
  readonly dns?: string[]
  readonly dns_connect?: string[]
  /** Target of the redirect, which must not be followed. */
  readonly redirect?: string
  readonly self?: string[]
}

const read = (list: URL): EgressCase[] =>
  existsSync(list) ? (JSON.parse(readFileSync(list, 'utf8')) as EgressCase[]) : []

describe.each([
  ['of the project', read(OURS)],
  [`beside the project${existsSync(OTHERS) ? '' : ' (skipped: ../shared/cases is absent)'}`, read(OTHERS)],
])('listed addresses %s', (_where, cases) => {
  test.skipIf(cases.length === 0)('are many, of both kinds', () => {
    expect(cases.filter(({ allow }) => allow).length).toBeGreaterThan(15)
    expect(cases.filter(({ allow }) => !allow).length).toBeGreaterThan(50)
  })

  // Redirects are the sender's: `hostile-endpoints.int.test.ts` shows that none is followed.
  test.each(cases.filter(({ redirect }) => redirect === undefined))(
    '$url → $allow: $why',
    async ({ url, allow, dns, dns_connect: later, self }) => {
      const host = URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : ''
      const guard = guardOf({ [host]: [dns ?? PUBLIC, later ?? dns ?? PUBLIC] }, self)
      const decideTwice = async () => {
        const { hostname } = await guard.checkReachable(url)
        // What the connector does once more for every connection.
        await guard.addressesOf(hostname)
      }
      const decided = await codeOf(decideTwice())
      expect(decided).toBe(allow ? 'none' : 'url_refused')
    },
  )
})

test('a refusal names the setting for local trials, but not where it is set', async () => {
  const stepOf = (allowPrivate: boolean, url: string) =>
    createEgressGuard({ allowPrivate, ownHosts: [] })
      .checkReachable(url)
      .then(
        () => 'taken',
        (error: unknown) => (error as ServiceError).nextStep,
      )
  expect(await stepOf(false, 'http://127.0.0.1:9000/hook')).toContain('--webhooks-allow-private')
  expect(await stepOf(false, 'https://127.0.0.1/hook')).toContain('--webhooks-allow-private')
  expect(await stepOf(true, 'http://127.0.0.1:9000/hook')).toBe('taken')
  expect(await stepOf(true, 'http://169.254.169.254/hook')).toMatch(
    /^(?!.*--webhooks-allow-private).*this machine/,
  )
})

test('an address is taken apart once, and asked about each time', () => {
  const takenApart = vi.spyOn(URL, 'canParse')
  const blocked = new Set<string>()
  const guard = createEgressGuard({
    allowPrivate: false,
    ownHosts: [],
    isBlocked: (host) => blocked.has(host),
  })
  const url = 'https://once.example.com/hook'
  expect(guard.check(url)).toEqual(guard.check(url))
  expect(takenApart.mock.calls.filter(([text]) => text === url)).toHaveLength(1)
  blocked.add('once.example.com')
  expect(() => guard.check(url)).toThrow('has nothing sent to once.example.com')
  for (let n = 0; n < 2; n++) expect(() => guard.check('https://localhost/')).toThrow('not a public name')
  takenApart.mockRestore()
})

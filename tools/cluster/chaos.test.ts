import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { drawFaults, readChaos } from './chaos.ts'
import { startLine } from './line.ts'
import { createRandom } from './random.ts'

const MEMBERS = ['api1', 'engine1']
const LINES = ['NATS', 'Redis', 'store']
const STORE = { freezeLeader: async () => {}, partLeader: async () => {} }

function drawn(seed: number, most: number, hasDisks = true): string[] {
  let left = most
  const isOpen = (): boolean => left-- > 0
  const ground = { members: MEMBERS, lines: LINES, storeFaults: STORE, hasDisks, isOpen }
  return [...drawFaults({ random: createRandom(seed), ...ground })].map(({ name }) => name)
}

test('a seed draws the same faults, another seed others, until its time is over', () => {
  expect(drawn(7, 50)).toEqual(drawn(7, 50))
  expect(drawn(7, 50)).not.toEqual(drawn(8, 50))
  expect(drawn(7, 50).slice(0, 10)).toEqual(drawn(7, 10))
  expect(drawn(7, 0)).toEqual([])
  expect(drawn(7, 300, false).filter((name) => name.includes('disk'))).toEqual([
    'a full disk (needs the right to mount one)',
  ])
  const all = drawn(7, 300).join('\n')
  for (const kind of [
    'killed',
    'stands still',
    'cut off from store',
    'NATS is down',
    'Redis is down',
    'the clock of',
    'the disk of',
    'Redis is emptied',
    'the leader of the store stands still',
    'the leader of the store is cut off',
    '; and ',
  ])
    expect(all).toContain(kind)
  expect(all).not.toContain('no room')
})

test('two faults at a time never befall the same', () => {
  const pairs = drawn(3, 2_000).filter((name) => name.includes('; and '))
  expect(pairs.length).toBeGreaterThan(100)
  for (const pair of pairs) {
    const [one, other] = pair
      .split('; and ')
      .map((name) => name.split(' for ')[0]?.replace(/, and away$/, ''))
    expect(one).not.toBe(other)
    expect(pair).not.toContain('silent')
  }
})

test('arguments that are none are refused in words', () => {
  expect(readChaos(['--minutes', '5'])).toEqual({ minutes: 5, seed: 1, processes: 8, releases: 1 })
  expect(() => readChaos([])).toThrow('--minutes is missing')
  expect(() => readChaos(['--minutes', '0'])).toThrow('from 1 to 1440, not 0')
  expect(() => readChaos(['--minutes', '1', '--seed', '4294967296'])).toThrow('--seed')
  expect(() => readChaos(['--minutes', '1', '--processes', '3'])).toThrow('4 or 8, not 3')
  expect(readChaos(['--minutes', '1', '--releases', '2', '--store-node', 'node {port}'])).toMatchObject({
    releases: 2,
    storeNode: 'node {port}',
  })
  expect(() => readChaos(['--minutes', '1', '--releases', '3'])).toThrow('from 1 to 2, not 3')
  expect(() => readChaos(['--nonsense'])).toThrow('--nonsense')
})

test('over a line that is cut nothing passes until it is healed, and then all of it', async () => {
  const echo = createServer((socket) => socket.pipe(socket).on('error', () => socket.destroy()))
  await once(echo.listen(0, '127.0.0.1'), 'listening')
  const line = await startLine(`nats://127.0.0.1:${(echo.address() as AddressInfo).port}`)
  const caller = connect(Number(new URL(line.url).port), '127.0.0.1').setEncoding('utf8')
  const parts: string[] = []
  const heard = (): string => parts.join('')
  caller.on('data', (text: string) => void parts.push(text))
  caller.write('before ')
  while (heard() !== 'before ') await once(caller, 'data')
  line.cut()
  caller.write('meanwhile')
  // Another way to the server has had its answer by the time that this one would have.
  const other = connect((echo.address() as AddressInfo).port, '127.0.0.1')
  other.write('heard')
  await once(other, 'data')
  expect(heard()).toBe('before ')
  line.heal()
  while (heard() !== 'before meanwhile') await once(caller, 'data')
  caller.destroy()
  other.destroy()
  await line.close()
  echo.close()
})

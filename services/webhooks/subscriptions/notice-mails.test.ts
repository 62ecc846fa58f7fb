import { expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import type { NoticeKind } from '../../../contracts/notice-events.ts'
import { createFakeClock } from '../../../testing/time/fake-clock.fixture.ts'
import { createNoticeMails, type NoticeData } from './notice-mails.ts'

const about = (name: string, kind: NoticeKind = 'failing'): NoticeData => ({
  type: 'notice',
  kind,
  subscription_id: name,
  origin: `https://${name}.example.com`,
  state: kind === 'failing' ? 'degraded' : 'active',
  reason: kind === 'failing' ? 'failing' : null,
  since: '2026-01-01T00:00:00.000Z',
})

function aWorld() {
  const time = createFakeClock(0)
  const ending = new AbortController()
  const mails: { id: string; subject: string; text: string }[] = []
  const reports: string[] = []
  /** The answer of the post: undefined where it takes a mail. */
  const post = { answer: (): number | undefined => undefined }
  const mail = createNoticeMails({
    async mailOwner(_account, one) {
      const roomInMs = post.answer()
      if (roomInMs === undefined) mails.push(one)
      return roomInMs
    },
    baseUrl: () => 'https://signals.example.com',
    sleep: time.sleep,
    signal: ending.signal,
    report: (event) => void reports.push(event),
  })
  return { time, ending, mails, reports, post, mail }
}

test('endpoints that fail together are told of in one mail, within a minute', async () => {
  const world = aWorld()
  const sent = Promise.all([world.mail('ada', about('one')), world.mail('ada', about('two'))])
  const other = world.mail('bob', about('three'))
  await world.time.pass(20_000)
  await Promise.all([sent, other])
  expect(world.mails.map(({ subject }) => subject)).toEqual([
    '2 of your webhooks changed their state',
    'Your webhook at three.example.com is failing',
  ])
  expect(world.mails[0]?.text).toContain('https://signals.example.com/webhooks/two')
})

test('the same notices have the same Message-ID, others have another', async () => {
  const world = aWorld()
  const rounds: NoticeData[][] = [
    [about('one'), about('two')],
    [about('two'), about('one')],
    [about('one')],
    [about('one', 'recovered')],
  ]
  for (const round of rounds) {
    const sent = round.map((data) => world.mail('ada', data))
    await world.time.pass(20_000)
    await Promise.all(sent)
  }
  const [first, again, ...others] = world.mails.map(({ id }) => id)
  expect(first).toMatch(/^[0-9a-f]{32}@signals\.example\.com$/)
  expect(again).toBe(first)
  expect(new Set([first, ...others]).size).toBe(3)
})

test('what finds no room waits, is not waited for, and comes in one mail with the newest of each endpoint', async () => {
  const world = aWorld()
  world.post.answer = () => 600_000
  const first = world.mail('ada', about('one'))
  await world.time.pass(20_000)
  await first
  await world.mail('ada', about('two'))
  await world.mail('ada', about('one', 'recovered'))
  expect(world.mails).toEqual([])
  world.post.answer = () => undefined
  await world.time.advance(600_000)
  expect(world.mails).toHaveLength(1)
  const [{ text } = { text: '' }] = world.mails
  expect([text.includes('one.example.com works again'), text.includes('two.example.com is failing')]).toEqual(
    [true, true],
  )
  expect(text).not.toContain('one.example.com is failing')
  // Nothing is left over.
  await world.time.advance(3_600_000)
  expect(world.mails).toHaveLength(1)
})

test('a store that fails is told to the caller, who tells it again', async () => {
  const world = aWorld()
  world.post.answer = () => {
    throw new ServiceError('store_unavailable')
  }
  const sent = world.mail('ada', about('one')).catch((error: unknown) => error)
  await world.time.pass(20_000)
  expect(await sent).toMatchObject({ code: 'store_unavailable' })
  world.post.answer = () => undefined
  const again = world.mail('ada', about('one'))
  await world.time.pass(20_000)
  await again
  expect(world.mails).toHaveLength(1)
})

test('a process that ends says which mail it did not send', async () => {
  const world = aWorld()
  const sent = world.mail('ada', about('one')).catch((error: unknown) => error)
  world.ending.abort()
  await world.time.pass(1_000)
  expect(await sent).toMatchObject({ code: 'shutting_down' })
  expect(world.reports).toEqual(['notices were not mailed'])
})

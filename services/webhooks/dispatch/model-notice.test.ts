import { createHash, createHmac } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newEvent } from '../../../contracts/event-definition.ts'
import { type SpeechChange, SpeechRestored, SpeechWithdrawn } from '../../../contracts/model-events.ts'
import { speechStream } from '../../../contracts/streams.ts'
import { DAY_MS, HOUR_MS } from '../../../contracts/timeframes.ts'
import { anId, NOON } from '../signals/testing/signal-log.fixture.ts'
import { createSecret } from '../subscriptions/subscription-secrets.ts'
import { DispatchWorld, type Post } from './testing/dispatch-world.fixture.ts'
import { expectWhole } from './testing/expect-whole.fixture.ts'

const SECRET = createSecret((bytes) => new Uint8Array(bytes).fill(7))

let world: DispatchWorld
beforeEach(() => {
  world = new DispatchWorld()
})
afterEach(() => world.stopAll())

const change = (days: number, auc: number): SpeechChange => ({
  modelVersion: 'barrier-3',
  timeframe: '1h',
  from: NOON + days * DAY_MS,
  day: NOON + (days - 1) * DAY_MS,
  auc,
  races: 4_000,
  days: 14,
  rule: 1,
})

async function decide(
  definition: typeof SpeechWithdrawn | typeof SpeechRestored,
  data: SpeechChange,
): Promise<void> {
  const id = world.newId()
  const meta = { correlationId: id, actor: 'engine' }
  const stream = speechStream(data.modelVersion, data.timeframe)
  await world.store.append(stream, [newEvent(definition, { id, data, meta })], { expected: 'any' })
}

async function withdrawAndRestore(): Promise<void> {
  await decide(SpeechWithdrawn, change(1, 0.489))
  await world.verdicts(1, { call: 'HOLD' })
  await decide(SpeechRestored, change(20, 0.512))
  await world.time.pass(3_000)
}

const changesIn = (posts: readonly Post[]): unknown[] =>
  posts.filter(({ body }) => body.event === 'model_notice').map(({ body }) => body.data['change'])

test('who opted in at the timeframe is told of withdrawal and restoring, signed, and nobody else is', async () => {
  await world.subscribe('opted', { filter: { events: ['model_notice'], timeframes: ['1h'] } })
  // What is asked of series does not keep a notice back.
  await world.subscribe('choosy', {
    filter: { events: ['trade_call', 'model_notice'], assets: ['ETH'], minConfidence: 59 },
  })
  await world.subscribe('elsewhere', { filter: { events: ['model_notice'], timeframes: ['4h'] } })
  await world.subscribe('usual')
  await world.start()
  await withdrawAndRestore()
  expect(changesIn(world.postsTo('opted'))).toEqual(['withdrawn', 'restored'])
  expect(changesIn(world.postsTo('choosy'))).toEqual(['withdrawn', 'restored'])
  expect(world.postsTo('elsewhere')).toEqual([])
  expect(changesIn(world.postsTo('usual'))).toEqual([])
  const [post] = world.postsTo('opted')
  if (post === undefined) throw new Error('Nothing came.')
  expect(post.body.data).toEqual({
    type: 'model_notice',
    change: 'withdrawn',
    timeframe: '1h',
    model_version: 'barrier-3',
    from: new Date(NOON + DAY_MS).toISOString(),
    auc_180d: 0.489,
    races_180d: 4_000,
    days_running: 14,
    track_record_url: 'https://signals.example.com/api/track-record?timeframe=1h',
  })
  const text = JSON.stringify(post.body)
  expect(createHash('sha256').update(text).digest('hex')).toBe(post.sha256)
  const { headers } = post
  expect(headers['X-Service-Event']).toBe('model_notice')
  expect(headers['X-Service-Signature']).toBe(
    createHmac('sha256', SECRET).update(`${headers['X-Service-Timestamp']}.${text}`).digest('hex'),
  )
  expectWhole(world.postsTo('opted'), 2)
})

test('a notice that could not be delivered is tried again, and replayed the same when its owner asks', async () => {
  await world.subscribe('opted', { filter: { events: ['model_notice'] } })
  let isDown = true
  world.endpoint('opted', () => ({
    kind: 'answered',
    status: isDown ? 503 : 200,
    retryAfterMs: undefined,
    durationMs: 1,
    detail: '',
  }))
  const first = await world.start()
  await withdrawAndRestore()
  await first.stop()
  isDown = false
  await world.start()
  await world.time.pass(HOUR_MS, 10_000)
  const delivered = world.postsTo('opted').slice(-2)
  expect(changesIn(delivered)).toEqual(['withdrawn', 'restored'])
  await world.say('opted', 'ReplayRequested', { replayId: anId('again'), fromSequence: 1, toSequence: 2 })
  await world.time.pass(3_000)
  const again = world.postsTo('opted').filter(({ headers }) => headers['X-Service-Replay'] === '1')
  const content = (posts: readonly Post[]) => posts.map(({ deliveryId, sha256 }) => ({ deliveryId, sha256 }))
  expect(content(again)).toEqual(content(delivered))
})

test('who opts in later is told of what is decided from then on', async () => {
  await decide(SpeechWithdrawn, change(1, 0.489))
  await world.subscribe('late', { filter: { events: ['model_notice'] } })
  await world.start()
  await decide(SpeechRestored, change(20, 0.512))
  await world.time.pass(3_000)
  expect(changesIn(world.postsTo('late'))).toEqual(['restored'])
})

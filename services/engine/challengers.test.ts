import { expect, test } from 'vitest'
import { decodeEvent } from '../../contracts/event-catalogue.ts'
import { newEvent } from '../../contracts/event-definition.ts'
import { SpeechWithdrawn } from '../../contracts/model-events.ts'
import { challengerStream, speechStream } from '../../contracts/streams.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import { createFactIds } from '../runtime/ids/fact-id.ts'
import { SeriesEngine, type VerdictDraft } from './engine.ts'
import { createEnsemble } from './ensemble.ts'
import { loadModel, modelFile } from './model.ts'
import { createChallengerRecorder } from './recording/challenger-recorder.ts'
import { chooseModel, decideChoice } from './speech/choose-model.ts'
import { createStandingOrders } from './speech/standing-orders.ts'

const SERIES = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const
const RELEASED = loadModel()
/** It says the opposite. */
const OTHER = { ...RELEASED, version: 'other-1', weights: RELEASED.weights.map((weight) => -weight) }
const FILES = [modelFile(), { modelVersion: 'other-1', sha256: '7d'.repeat(32), bytes: 9 }]

const bar = (n: number) => {
  const close = 100 + 10 * Math.sin(n / 9)
  return { openTime: n * HOUR_MS, open: close, high: close + 1, low: close - 1, close, volume: 5 + (n % 7) }
}
/** The verdicts of a model over a number of bars in a row. */
function draftsOf(model: typeof RELEASED, count: number): readonly VerdictDraft[] {
  const engine = new SeriesEngine({ model })
  const slot = engine.open(SERIES)
  const drafts: VerdictDraft[] = []
  for (let n = 0; drafts.length < count; n++) {
    engine.push(slot, bar(n))
    const reading = engine.read(slot)
    if (reading.status === 'verdict') drafts.push(reading.verdict)
  }
  return drafts
}

const parts = () => {
  const store = openMemoryStore({ now: () => 0 })
  const signal = new AbortController().signal
  return { store, idOf: createFactIds(new Uint8Array(32)), sleep: async () => undefined, signal }
}

test('each model says what it would say alone, and another takes over from one bar to the next', () => {
  const alone = [RELEASED, OTHER].map((model) => new SeriesEngine({ model }))
  const speakerAt = (barClose: number): string => (barClose >= 700 * HOUR_MS ? 'other-1' : 'none of these')
  const both = createEnsemble(
    [new SeriesEngine({ model: RELEASED }), new SeriesEngine({ model: OTHER })],
    speakerAt,
  )
  const slots = [...alone, both].map((engine) => engine.open(SERIES))
  for (let n = 0; n < 710; n++) {
    for (const [index, engine] of [...alone, both].entries()) engine.push(slots[index] ?? 0, bar(n))
    const [released, other] = alone.map((engine, index) => engine.read(slots[index] ?? 0))
    const speaks = n + 1 >= 700 ? [other, released] : [released, other]
    expect(both.read(slots[2] ?? 0)).toEqual(speaks[0])
    const beside = speaks[1]?.status === 'verdict' ? [speaks[1].verdict] : []
    expect(both.others(slots[2] ?? 0)).toEqual(beside)
  }
  expect(() => both.push(slots[2] ?? 0, bar(3))).toThrow('not after the last one')
})

test('what does not speak is recorded once for each bar, in a stream of its own, by whoever records the exchange', async () => {
  const { store, ...rest } = parts()
  let mayRecord = true
  const failures: unknown[] = []
  const options = {
    ...rest,
    store,
    holds: () => mayRecord,
    clock: () => 9_999 * HOUR_MS,
    onFailure: (...failure: unknown[]) => void failures.push(failure),
  }
  const drafts = draftsOf(OTHER, 12)
  await createChallengerRecorder(options).record(SERIES, drafts.slice(0, 5))
  await createChallengerRecorder(options).record(SERIES, drafts.slice(2, 7))
  mayRecord = false
  await createChallengerRecorder(options).record(SERIES, drafts.slice(7))
  const recorded = []
  for await (const event of store.read(challengerStream('other-1', SERIES))) recorded.push(decodeEvent(event))
  expect(recorded.map(({ type, data }) => [type, 'barClose' in data && data.barClose])).toEqual(
    drafts.slice(0, 7).map(({ barClose }) => ['ChallengerVerdictRecorded', barClose]),
  )
  expect(recorded[0]?.data).toMatchObject({ modelVersion: 'other-1', recordedLate: true, previous: null })
  expect(failures).toEqual([])
})

test.each([
  [
    'one after the other',
    [
      [true, false],
      [false, true],
      [true, false],
    ],
  ],
  [
    'both for a moment',
    [
      [true, false],
      [true, true],
      [false, true],
    ],
  ],
  [
    'nobody for a moment',
    [
      [true, false],
      [false, false],
      [false, true],
    ],
  ],
])(
  'where two processes hold the lease %s, each bar that somebody held it at is recorded once',
  async (_, holders) => {
    const { store, ...rest } = parts()
    let held: readonly boolean[] = []
    const failures: unknown[] = []
    const recorders = [0, 1].map((place) =>
      createChallengerRecorder({
        ...rest,
        store,
        holds: () => held[place] === true,
        clock: () => 0,
        onFailure: (...failure) => void failures.push(failure),
      }),
    )
    const drafts = draftsOf(OTHER, 12)
    for (const [n, draft] of drafts.entries()) {
      held = holders[Math.floor((n * holders.length) / drafts.length)] ?? []
      await Promise.all(recorders.map((recorder) => recorder.record(SERIES, [draft])))
    }
    const recorded: number[] = []
    for await (const { data } of store.read(challengerStream('other-1', SERIES)))
      recorded.push(Number(data.barClose))
    const wanted = drafts.filter((_draft, n) =>
      holders[Math.floor((n * holders.length) / drafts.length)]?.includes(true),
    )
    expect(recorded).toEqual(wanted.map(({ barClose }) => barClose))
    expect(failures).toEqual([])
  },
)

test('what the operator chooses holds from then on, in processes that run and in those that start', async () => {
  const { store, sleep, signal } = parts()
  const orders = () =>
    createStandingOrders({ store, models: ['other-1'], sleep, onFailure: (reason) => expect.fail(reason) })
  const running = orders()
  await running.load()
  const ending = new AbortController()
  const following = running.follow(ending.signal)
  let now = 5_000
  const options = {
    store,
    newId: () => crypto.randomUUID(),
    files: FILES,
    marketNow: () => now,
    now: () => 0,
  }
  const choose = (version: string) =>
    chooseModel({ ...options, sleep, signal }, version, { correlationId: 'test', actor: 'operator' })
  const chosen = await choose('other-1')
  expect(chosen).toEqual({ modelVersion: 'other-1', sha256: '7d'.repeat(32), from: 5_000 })
  now = 6_000
  expect(await choose('other-1')).toEqual(chosen)
  await expect(choose('barrier-99')).rejects.toMatchObject({
    code: 'model_unknown',
    details: { available: [RELEASED.version, 'other-1'] },
  })
  await choose(RELEASED.version)
  const started = orders()
  await started.load()
  await expect.poll(() => running.chosen(6_000)?.modelVersion).toBe(RELEASED.version)
  for (const one of [running, started])
    expect([4_999, 5_000, 6_000].map((at) => one.chosen(at)?.modelVersion)).toEqual([
      undefined,
      'other-1',
      RELEASED.version,
    ])
  ending.abort()
  await following
})

test('who is withdrawn is silent whoever speaks: a model that takes over speaks where it was not withdrawn itself', async () => {
  const { store, sleep } = parts()
  const data = {
    modelVersion: RELEASED.version,
    timeframe: '1h' as const,
    from: 650 * HOUR_MS,
    day: 0,
    auc: 0.48,
    races: 900,
    days: 14,
    rule: 1,
  }
  const meta = { correlationId: 'test', actor: 'engine' }
  const withdrawn = newEvent(SpeechWithdrawn, { id: crypto.randomUUID(), data, meta })
  await store.append(speechStream(RELEASED.version, '1h'), [withdrawn], { expected: 'any' })
  const models = [RELEASED, OTHER]
  const orders = createStandingOrders({
    store,
    models: models.map(({ version }) => version),
    sleep,
    onFailure: (reason) => expect.fail(reason),
  })
  await orders.load()
  const engineOf = (model: typeof RELEASED, silences: boolean) =>
    new SeriesEngine({
      model,
      ...(silences && { withdrawal: (...at) => orders.withdrawal(model.version, ...at) }),
    })
  const speakerAt = (barClose: number): string => (barClose > 680 * HOUR_MS ? 'other-1' : RELEASED.version)
  const both = createEnsemble([engineOf(RELEASED, true), engineOf(OTHER, true)], speakerAt)
  const [released, other] = [engineOf(RELEASED, false), engineOf(OTHER, false)]
  const slots = [both, released, other].map((engine) => engine.open(SERIES))
  const wouldSpeak = { before: 0, behind: 0 }
  for (let n = 0; n < 720; n++) {
    for (const [index, engine] of [both, released, other].entries()) engine.push(slots[index] ?? 0, bar(n))
    const [said, ofReleased, ofOther] = [both, released, other].map((engine, index) => {
      const reading = engine.read(slots[index] ?? 0)
      return reading.status === 'verdict' ? reading.verdict : undefined
    })
    if (said === undefined || said.barClose < 650 * HOUR_MS) continue
    const [beside] = both.others(slots[0] ?? 0)
    if (said.barClose <= 680 * HOUR_MS) {
      expect(said).toMatchObject({ call: 'HOLD', strength: 0, probability: ofReleased?.probability })
      expect(beside).toEqual(ofOther)
      wouldSpeak.before += ofReleased?.call === 'HOLD' ? 0 : 1
    } else {
      expect(said).toEqual(ofOther)
      // Withdrawn is withdrawn, also of who does not speak.
      expect(beside?.call).toBe('HOLD')
      wouldSpeak.behind += ofOther?.call === 'HOLD' ? 0 : 1
    }
  }
  expect(Math.min(wouldSpeak.before, wouldSpeak.behind)).toBeGreaterThan(0)
})

test('given a market clock that was set back, the newer choice holds all the same', () => {
  const before = { modelVersion: 'other-1', sha256: '7d'.repeat(32), from: 9_000 }
  expect(decideChoice(before, modelFile(), 1_000)?.from).toBe(9_000)
})

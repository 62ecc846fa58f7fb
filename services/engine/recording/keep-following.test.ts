import { expect, test } from 'vitest'
import type { Series } from '../../../contracts/domain/series.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { createFollower, type FollowerOptions } from './keep-following.ts'
import { NOTHING_RUN } from './run-engine.ts'

const series = ['BTC', 'ETH', 'SOL'].map((coin): Series => ({ exchange: 'SIM', coin, timeframe: '1h' }))
const [, ETH] = series as [Series, Series, Series]
const fault = (name?: string): ServiceError =>
  new ServiceError('internal_error', { message: 'no', ...(name && { details: { series: name } }) })

/** The acts of the runs in turn: fail, close a coin, or go on until the end. */
type Step = { readonly fails?: ServiceError; readonly closes?: readonly string[]; readonly lastsMs?: number }

/** Runs by a script; sleeping is all that lets time pass. */
function setUp(scripts: Readonly<Record<string, readonly Step[]>>, change: Partial<FollowerOptions> = {}) {
  const heard: string[] = []
  const ending = new AbortController()
  const turns = new Map<string, number>()
  let now = 0
  let sleeps = 0
  const follower = createFollower({
    async run(some, _until, onClosed) {
      const name = some.map(({ coin }) => coin).join('+')
      heard.push(`run ${name}`)
      const turn = turns.get(name) ?? 0
      turns.set(name, turn + 1)
      const { fails, closes = [], lastsMs = 0 } = scripts[name]?.[turn] ?? {}
      for (const one of some) if (closes.includes(one.coin)) onClosed(one, fault())
      now += lastsMs
      if (fails !== undefined) throw fails
      const isOver = closes.length === some.length || scripts[name]?.[turn] === undefined
      if (!isOver) await new Promise((resolve) => ending.signal.addEventListener('abort', resolve))
      return { ...NOTHING_RUN, bars: some.length }
    },
    triesAgain: true,
    onClosed: ({ coin }, _error, ms) => void heard.push(`closed ${coin} for ${ms}`),
    onFailed: (some, _error, ms) => void heard.push(`failed ${some.length} for ${ms}`),
    now: () => now,
    async sleep(ms) {
      now += ms
      if (++sleeps > 20) ending.abort()
    },
    ...change,
  })
  const follow = (some: readonly Series[]) => follower.follow(some, ending.signal)
  return { follower: { ...follower, follow }, heard, ending }
}

test('a run that fails begins again after a pause, longer the more often it failed', async () => {
  const failing = Array.from({ length: 6 }, () => ({ fails: fault() }))
  const { follower, heard } = setUp({ 'BTC+ETH+SOL': failing })
  await follower.follow(series)
  expect(heard.filter((line) => line.startsWith('failed'))).toEqual(
    [30_000, 60_000, 120_000, 300_000, 900_000, 900_000].map((ms) => `failed 3 for ${ms}`),
  )
  expect(heard.at(-1)).toBe('run BTC+ETH+SOL')
})

test('what went well for long is no failure in a row', async () => {
  const script = [{ fails: fault() }, { fails: fault(), lastsMs: 3_600_000 }, { fails: fault() }]
  const { follower, heard } = setUp({ 'BTC+ETH+SOL': script })
  await follower.follow(series)
  expect(heard.filter((line) => line.startsWith('failed'))).toEqual(
    [30_000, 30_000, 60_000].map((ms) => `failed 3 for ${ms}`),
  )
})

test('a series that is closed is tried again alone, while the others go on', async () => {
  const { follower, heard, ending } = setUp({
    'BTC+ETH+SOL': [{ closes: ['ETH'] }],
    ETH: [{ closes: ['ETH'] }, { fails: fault() }, {}],
  })
  const following = follower.follow(series)
  await expect.poll(() => heard.length).toBe(7)
  expect(heard).toEqual([
    'run BTC+ETH+SOL',
    'closed ETH for 30000',
    'run ETH',
    'closed ETH for 60000',
    'run ETH',
    'closed ETH for 120000',
    'run ETH',
  ])
  expect(follower.isClosed(ETH)).toBe(false)
  ending.abort()
  expect(await following).toMatchObject({ bars: 5 })
})

test('a fault that names its series closes that one, and the others begin at once', async () => {
  const script = { 'BTC+ETH+SOL': [{ fails: fault('SIM.ETH.1h') }], 'BTC+SOL': [] }
  const { follower, heard } = setUp(script)
  await follower.follow(series)
  expect(heard.filter((line) => line !== 'run ETH')).toEqual([
    'run BTC+ETH+SOL',
    'closed ETH for 30000',
    'run BTC+SOL',
  ])
})

test('a series that waits to be tried again is closed', async () => {
  const slept = Promise.withResolvers<void>()
  const { follower, ending } = setUp({ 'BTC+ETH+SOL': [{ closes: ['ETH'] }] }, { sleep: () => slept.promise })
  const following = follower.follow(series)
  expect(series.map((one) => follower.isClosed(one))).toEqual([false, true, false])
  ending.abort()
  slept.resolve()
  await following
  expect(follower.isClosed(ETH)).toBe(false)
})

test('a market that would fail in the same way is not tried again', async () => {
  const { follower, heard } = setUp(
    { 'BTC+ETH+SOL': [{ closes: ['ETH'], fails: fault() }] },
    { triesAgain: false },
  )
  await expect(follower.follow(series)).rejects.toThrow('no')
  expect(heard).toEqual(['run BTC+ETH+SOL', 'closed ETH for undefined'])
})

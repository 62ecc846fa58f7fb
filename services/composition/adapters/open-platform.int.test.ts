import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createSimulatedFeed, type MarketFeed } from '../../market/index.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { startOf } from '../start.fixture.ts'
import { openFeed, requireKnownCoins } from './open-feed.ts'
import { openPlatform } from './open-platform.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'open-platform-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** Opens it as a start does, and closes it again; the id of the log. */
async function start(folder: string, environment: NodeJS.ProcessEnv = {}): Promise<string> {
  const settings = readSettings(['--data-dir', join(directory, folder)], environment)
  const opening = startOf(settings)
  try {
    return (await openPlatform(opening)).logId
  } finally {
    await opening.shutdown.stop()
  }
}

test('the clock of a market is followed from where the log says it last, not through the whole log', async () => {
  const settings = readSettings(['--data-dir', join(directory, 'data')], {})
  const opening = startOf(settings)
  try {
    const platform = await openPlatform(opening)
    const asked: unknown[] = []
    const subscribe: typeof platform.store.subscribe = (options) => {
      asked.push(options.after)
      return platform.store.subscribe(options)
    }
    await openFeed(opening, { ...platform, store: { ...platform.store, subscribe } })
    expect(asked).toEqual([await platform.store.head()])
  } finally {
    await opening.shutdown.stop()
  }
})

const HOUR = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const

/** The first bars of history that a feed gives. */
async function firstBars(feed: MarketFeed) {
  const ending = new AbortController()
  for await (const { bars } of feed.batches({ series: [HOUR], liveFrom: 1e12, signal: ending.signal }))
    if (bars.length > 0) return bars
  throw new Error('The feed gave no bar.')
}

test('the market of a log is drawn as its first event says, at every start', async () => {
  const parts = { now: () => 1e12, sleepUntil: () => Promise.resolve() }
  const expected = await firstBars(createSimulatedFeed({ seed: 'signal', ...parts }))
  for (let time = 0; time < 2; time++) {
    const opening = startOf(readSettings(['--data-dir', join(directory, 'data')], {}))
    try {
      expect(await firstBars(await openFeed(opening, await openPlatform(opening)))).toEqual(expected)
    } finally {
      await opening.shutdown.stop()
    }
  }
})

describe('a restore', () => {
  test('without the key is refused, says which file is missing where, and writes nothing', async () => {
    const logId = await start('data')
    const restored = join(directory, 'restored/simulated')
    cpSync(join(directory, 'data/simulated/events.db'), join(restored, 'events.db'))
    const before = readdirSync(restored)
    const refusal = start('restored')
    await expect(refusal).rejects.toMatchObject({ code: 'store_mismatch' })
    await expect(refusal).rejects.toThrow(`missing: copy it to ${join(restored, 'sealing.key')}`)
    expect(readdirSync(restored)).toEqual(before)

    cpSync(join(directory, 'data/simulated/sealing.key'), join(restored, 'sealing.key'))
    expect(await start('restored')).toBe(logId)
  })

  test('under a key that is a setting needs no file', async () => {
    const environment = { SEALING_KEY: Buffer.alloc(32, 7).toString('base64') }
    const logId = await start('data', environment)
    expect(readdirSync(join(directory, 'data/simulated'))).not.toContain('sealing.key')
    expect(await start('data', environment)).toBe(logId)
  })
})

describe('a folder', () => {
  test('whose log is gone is refused, and nothing is made in it', async () => {
    await start('data')
    const folder = join(directory, 'data/simulated')
    for (const name of ['events.db', 'sealing.key']) rmSync(join(folder, name))
    const before = readdirSync(folder)
    await expect(start('data')).rejects.toMatchObject({ code: 'store_mismatch' })
    expect(readdirSync(folder)).toEqual(before)
  })

  test('whose log lost its end is gone on with where the setting names that end', async () => {
    const logId = await start('data')
    const folder = join(directory, 'data/simulated')
    const note = readFileSync(join(folder, 'newest-position'), 'utf8')
    writeFileSync(join(folder, 'newest-position'), note.replace(/ {2}(?=\d)/, '99'))
    await expect(start('data')).rejects.toMatchObject({ code: 'log_end_lost' })
    const end = String(Number(note.trim().split(' ')[0]))
    expect(await start('data', { ACCEPT_LOST_END: end })).toBe(logId)
    expect(await start('data')).toBe(logId)
  })
})

describe('coins of the simulated market', () => {
  const check = (environment: NodeJS.ProcessEnv) => () => requireKnownCoins(readSettings([], environment))

  test.each([{}, { COINS: 'BTC,ADA' }, { COINS: 'MINE,BTC', SIMULATED_COINS: 'MINE' }])(
    '%j are its own',
    (given) => {
      expect(check(given)).not.toThrow()
    },
  )

  test.each([
    ['BTX', 'did you mean BTC?'],
    ['NOPE', 'It has BTC, ETH'],
    ['BTC,NOPE', 'names NOPE'],
    ['NOPE', 'name it in SIMULATED_COINS'],
  ])('%s is refused: %s', (coins, words) => {
    expect(check({ COINS: coins })).toThrow(words)
    expect(check({ COINS: coins })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })

  test('are no matter of another market', () => {
    expect(check({ MARKET: 'live', COINS: 'NOPE' })).not.toThrow()
  })
})

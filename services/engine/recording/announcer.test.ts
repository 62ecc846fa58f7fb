import { expect, test } from 'vitest'
import type { Series } from '../../../contracts/domain/series.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { collect } from '../../log/event-store.contract.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { uuidV8 } from '../../runtime/ids/uuid.ts'
import { createAnnouncer } from './announcer.ts'

const file = { modelVersion: 'barrier-3', sha256: '7d'.repeat(32), bytes: 1 }
const BTC: Series = { exchange: 'HL', coin: 'BTC', timeframe: '1h' }

test('a model and what is monitored are said once, and again when they have changed, whoever says it', async () => {
  let made = 0
  const newId = () => uuidV8(Buffer.from((++made).toString(16).padStart(32, '0'), 'hex'))
  const store = openMemoryStore({ now: () => Date.UTC(2025, 0, 1) })
  const options = { store, newId, clock: () => 7, sleep, signal: new AbortController().signal }
  const [one, other] = [createAnnouncer(options), createAnnouncer(options)]
  await Promise.all([one.announceModel(file), other.announceModel(file)])
  await one.announceModel({ ...file, sha256: '00'.repeat(32) })
  await one.announceMonitored(['HL'], [BTC, { ...BTC, exchange: 'OKX' }])
  await other.announceMonitored(['HL'], [{ ...BTC, exchange: 'OKX' }, BTC])
  await other.announceMonitored(['HL'], [BTC, { ...BTC, timeframe: '15m' }])
  const said = (await collect(store.readAll())).map(({ stream, data }) => [
    stream,
    data.sha256 ?? data.monitored,
  ])
  expect(said).toEqual([
    ['model-barrier-3', file.sha256],
    ['model-barrier-3', '00'.repeat(32)],
    ['monitored-HL', [{ coin: 'BTC', timeframes: ['1h'] }]],
    ['monitored-HL', [{ coin: 'BTC', timeframes: ['15m', '1h'] }]],
  ])
})

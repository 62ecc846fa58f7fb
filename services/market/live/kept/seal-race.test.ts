import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { MINUTE_MS } from '../../../../contracts/timeframes.ts'
import { appendKept, keptFile, partPath, readKept, sealedPath, sealKept } from './kept-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'kept-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const DAY = Date.UTC(2026, 10, 22)
const SHAPE = {
  open: 100,
  high: 101,
  low: 99,
  close: 100,
  volume: 1,
  takerBuyVolume: 0.5,
  trades: 3,
  openInterest: 7,
  mark: 100,
}

test('bars that another process seals while they are read are all found', async () => {
  const file = { ...keptFile(folder, { exchange: 'OKX', coin: 'BTC', timeframe: '1m' }, DAY), folder }
  const bars = [0, 1, 2].map((minute) => ({ openTime: DAY + minute * MINUTE_MS, ...SHAPE }))
  await appendKept(file, bars)
  await sealKept(file, 'a')
  const sealed = readFileSync(sealedPath(file))
  rmSync(sealedPath(file))
  await appendKept(file, bars)
  const part = `${file.name}.part.b`
  renameSync(partPath(file), join(folder, part))
  // The other one is done between this one's list of the parts and the reading of the first.
  const parts = Object.assign([part], {
    *[Symbol.iterator]() {
      writeFileSync(sealedPath(file), sealed)
      rmSync(join(folder, part))
      yield part
    },
  })
  expect(await readKept(file, parts)).toEqual(bars)
})

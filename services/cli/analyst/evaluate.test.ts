import { expect, test } from 'vitest'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import { loadModel, readRanges } from '../../engine/index.ts'
import { beginSignal } from '../kit/run-signal.fixture.ts'

async function evaluated(...args: readonly string[]) {
  const { written, done } = beginSignal(['evaluate', ...args])
  expect([await done, written.err]).toEqual([0, ''])
  return written.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, object>)
}

test('the scores of the model of this release and of its ranges are written, a timeframe a line', async () => {
  const rows = await evaluated()
  const { version, timeframes } = loadModel()
  const ranges = readRanges()
  expect(rows.map(({ model, timeframe }) => [model, timeframe])).toEqual(
    TIMEFRAMES.map((timeframe) => [version, timeframe]),
  )
  expect(rows[5]).toEqual({
    model: version,
    timeframe: '1h',
    races: timeframes['1h'].measured,
    closes: timeframes['1h'].closes?.measured,
    ranges: {
      version: ranges.version,
      measured: ranges.timeframes['1h'].measured,
      blind: ranges.timeframes['1h'].blind,
    },
  })
})

test('those of a former model are written with the ranges that it had', async () => {
  const [row] = await evaluated('--model', 'barrier-3', '--timeframe', '4h')
  expect(row).toMatchObject({ model: 'barrier-3', timeframe: '4h', ranges: { version: 'range-1' } })
  expect(row).not.toHaveProperty('closes')
})

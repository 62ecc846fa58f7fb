import { describe, expect, test } from 'vitest'
import { evaluateCommand, loadModel } from './engine/index.ts'
import { collectHistories } from './engine/training/collect-histories.ts'
import type { Evaluation } from './engine/training/evaluation.ts'
import { describeHistory } from './engine/training/provenance.ts'
import { createRecordedFeed } from './market/index.ts'
import { isDataAbsent, RECORDED_DATA, whenPresent } from './market/testing/recorded-data.ts'

const folder = `${RECORDED_DATA}/binance-usdm`

describe.skipIf(isDataAbsent)(`the model of this release and the recorded candles${whenPresent}`, () => {
  test('agree on what the model was fitted on', async () => {
    const feed = createRecordedFeed({ folder, coins: ['BTC', 'ENA'] })
    const histories = await collectHistories(feed, new Set(['1h', '4h']))
    const stated = loadModel().provenance.series.filter(
      ({ coin, timeframe }) =>
        (coin === 'BTC' || coin === 'ENA') && (timeframe === '1h' || timeframe === '4h'),
    )
    expect(stated).toHaveLength(4)
    expect(histories.map(describeHistory)).toEqual(stated)
  })

  test('show skill on one coin alone, out of sample', async () => {
    const out: string[] = []
    const args = ['--data', folder, '--coins', 'BTC', '--timeframes', '1h', '--json']
    const code = await evaluateCommand(args, {
      openFeed: createRecordedFeed,
      out: (text) => out.push(text),
      report: () => undefined,
      readText: () => expect.fail('No file was to be read.'),
    })
    expect(code).toBe(0)
    const [scores] = (JSON.parse(out.join('')) as Evaluation).timeframes
    expect(scores?.all.verdicts).toBeGreaterThan(40_000)
    expect(scores?.all.auc?.low).toBeGreaterThan(0.5)
    expect(scores?.all.calibrationError).toBeLessThan(0.03)
  })
})

import { describe, expect, test } from 'vitest'
import { loadModel, type VerdictModel } from '../../engine/index.ts'
import { fittedOn } from './fitted-on.ts'

const day = (text: string): number => Date.parse(text)

const { provenance } = loadModel()
const [used] = provenance.series
const model: Pick<VerdictModel, 'version' | 'provenance'> = {
  version: 'test-1',
  provenance: {
    ...provenance,
    from: day('2020-01-01'),
    to: day('2024-01-01'),
    series:
      used === undefined
        ? []
        : [
            {
              ...used,
              exchange: 'BINANCE',
              coin: 'BTC',
              timeframe: '1h',
              from: day('2021-01-01'),
              to: day('2024-01-01'),
            },
            {
              ...used,
              exchange: 'BINANCE',
              coin: 'BTC',
              timeframe: '4h',
              from: day('2020-01-01'),
              to: day('2023-01-01'),
            },
          ],
  },
}

const relation = (coin: string, from: string, to: string, exchange: 'BINANCE' | 'HL' = 'BINANCE') =>
  fittedOn(model, [{ exchange, coin, timeframe: '15m' }], { from: day(from), to: day(to) })

describe('a period beside what a model was fitted on', () => {
  test('is in sample where bars of the market were used, of whatever timeframe, named once', () => {
    const { relation: found, text } = relation('BTC', '2022-06-01', '2022-07-01')
    expect(found).toBe('in_sample')
    expect(text).toContain('BINANCE BTC (2020-01-01 to 2024-01-01)')
    expect(relation('BTC', '2023-06-01', '2025-01-01').relation).toBe('in_sample')
  })

  test('is of the same time where only other markets were used', () => {
    expect(relation('ETH', '2022-06-01', '2022-07-01').relation).toBe('same_time')
    expect(relation('BTC', '2022-06-01', '2022-07-01', 'HL').relation).toBe('same_time')
  })

  test('is out of sample before and after, touching or not', () => {
    expect(relation('BTC', '2024-01-01', '2025-01-01').relation).toBe('out_of_sample')
    expect(relation('BTC', '2019-01-01', '2020-01-01').relation).toBe('out_of_sample')
    expect(relation('BTC', '2019-01-01', '2020-01-02').relation).toBe('in_sample')
  })
})

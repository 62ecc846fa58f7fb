import { describe, expect, test } from 'vitest'
import { ERRORS } from '../../contracts/errors.ts'
import { EVENT_CATALOGUE } from '../../contracts/event-catalogue.ts'
import { TIMEFRAMES } from '../../contracts/timeframes.ts'
import { SETTINGS } from '../platform/config/settings.ts'
import type { DescribedModel } from './model-page.ts'
import { referencePages } from './reference-pages.ts'

const measured = { races: 12_345, auc: 0.54321, aucMargin: 0.0123, brier: 0.24871 }
const speaking = { skill: true, slope: 0.9, offset: -0.05, measured } as const
const silent = { skill: false, reason: 'no race was ever run' } as const

const model: DescribedModel = {
  version: 'test-7',
  provenance: 'Made up for a test.',
  intercept: -0.25,
  clip: 3,
  names: ['momentum_3', 'rsi_distance'],
  means: [0.125, -0.5],
  inverseScales: [4, 1 / 0.3],
  coefficients: [0.034662, -0.1],
  timeframes: {
    '1m': silent,
    '3m': silent,
    '5m': silent,
    '15m': silent,
    '30m': silent,
    '1h': speaking,
    '2h': { ...silent, measured },
    '4h': speaking,
    '8h': silent,
    '12h': silent,
    '1d': silent,
  },
}

const pages = referencePages({ model })
const pageOf = (name: string): string => pages[name] ?? ''

test('name every event with its stream, every error and every setting', () => {
  for (const { type, stream } of Object.values(EVENT_CATALOGUE)) {
    expect(pageOf('events.md')).toContain(`## ${type}`)
    expect(pageOf('events.md')).toContain(stream)
  }
  for (const code of Object.keys(ERRORS)) expect(pageOf('errors.md')).toContain(`| \`${code}\` |`)
  for (const [name, { flag }] of Object.entries(SETTINGS)) {
    expect(pageOf('settings.md')).toContain(`| \`${name}\` | \`--${flag}\` |`)
  }
})

describe('the page of the model', () => {
  const page = pageOf('model.md')

  test('says which model it is, where it calls and where its numbers come from', () => {
    expect(page).toContain('`test-7`. It makes calls at 1h, 4h and answers HOLD at 1m,')
    expect(page).toContain('Made up for a test.')
  })

  test('has a row for every timeframe, with the scores that were measured', () => {
    expect(page).toContain('| 1h | 8 | 12,345 | 0.5432 ± 0.0123 | 0.2487 | 0.9 | -0.05 | BUY, SELL, HOLD |')
    expect(page).toContain('| 2h | 8 | 12,345 | 0.5432 ± 0.0123 | 0.2487 |  |  | HOLD only |')
    expect(page).toContain('| 12h | 5 |  |  |  |  |  | HOLD only |')
    for (const timeframe of TIMEFRAMES) expect(page).toContain(`\n| ${timeframe} |`)
    expect(page).toContain('- 12h answers HOLD because no race was ever run.')
    expect(page).not.toContain('- 1h answers HOLD')
  })

  test('has a row for every factor, with the parameters as the model was written', () => {
    expect(page).toContain(
      '| `momentum_3` | log return over 3 bars / (realised volatility × √3) | 0.125 | 0.25 | 0.034662 |',
    )
    expect(page).toContain('| `rsi_distance` | (RSI14 − 50) / 50 | -0.5 | 0.3 | -0.1 |')
    expect(page).toContain('score = -0.25 + Σ')
  })

  test('is not made while the meaning of a factor is missing', () => {
    expect(() => referencePages({ model: { ...model, names: ['moon_phase', 'rsi_distance'] } })).toThrow(
      'moon_phase has no meaning',
    )
  })
})

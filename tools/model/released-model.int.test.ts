import { describe, expect, test } from 'vitest'
import { TIMEFRAMES } from '../../contracts/timeframes.ts'
import { loadModel } from '../../services/engine/index.ts'
import type { UsedSeries } from '../../services/engine/provenance.ts'
import type { Evaluation } from '../../services/engine/scoring/evaluate-verdicts.ts'
import { isDataAbsent, RECORDED_DATA, whenPresent } from '../../services/market/testing/recorded-data.ts'
import { evaluateCommand } from './evaluate-command.ts'
import { readHistories } from './read-histories.ts'
import type { SeriesHistory } from './series-history.ts'
import { lackOfSkill } from './skill.ts'
import { targetsOf } from './targets.ts'

const { timeframes } = loadModel()

test('speaks only where it was measured to have skill', () => {
  for (const timeframe of TIMEFRAMES) {
    const { closes = expect.fail('It has no second forecast.') } = timeframes[timeframe]
    for (const skill of [timeframes[timeframe], closes]) {
      if (skill.skill) expect(lackOfSkill(timeframe, skill.measured)).toBeUndefined()
      else if (skill.measured) expect(lackOfSkill(timeframe, skill.measured)).toBe(skill.reason)
    }
  }
  expect([timeframes['1h'].closes?.skill, timeframes['30m'].closes?.skill]).toEqual([true, false])
  expect(timeframes['1h'].skill).toBe(true)
  expect(timeframes['1d'].skill).toBe(false)
})

test('reaches what it was to reach at 1h, out of sample', () => {
  const measured = timeframes['1h'].measured ?? expect.fail('The model file has no scores at 1h.')
  const targets = targetsOf({ all: measured, placeboAuc: measured.placeboAuc })
  expect(targets.filter(({ isMet }) => !isMet)).toEqual([])
})

const folders = [RECORDED_DATA, `${RECORDED_DATA}-intraday`]

describe.skipIf(isDataAbsent)(`the model of this release and the recorded candles${whenPresent}`, () => {
  test('agree on what the model was fitted on', async () => {
    const used: UsedSeries[] = []
    const selection = { folders, timeframes: TIMEFRAMES, coins: ['ENA', 'UNI'] }
    const hearer = { report: () => undefined, used: (series: UsedSeries) => used.push(series) }
    const histories: SeriesHistory[] = []
    for await (const history of readHistories(selection, hearer)) histories.push(history)
    expect(histories.length).toBeGreaterThan(0)
    const { series } = loadModel().provenance
    expect(used).toEqual(series.filter(({ coin }) => selection.coins.includes(coin)))
  })

  test('show skill on one coin alone, out of sample', async () => {
    const out: string[] = []
    const args = ['--data', RECORDED_DATA, '--coins', 'BTC', '--timeframes', '1h', '--json']
    const code = await evaluateCommand(args, {
      histories: readHistories,
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

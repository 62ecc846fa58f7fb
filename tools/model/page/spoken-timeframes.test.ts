import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SPOKEN_TIMEFRAMES } from '../../../contracts/spoken-timeframes.ts'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import { TOOLS } from '../../../contracts/tools/tool-catalogue.ts'
import { KEPT_MODELS, keptModelFile, loadModel } from '../../../services/engine/model.ts'
import { spokenTimeframesModule, walkedAucModule } from './spoken-timeframes.ts'

test('what callers are told of timeframes is what the model of this release does', () => {
  const file = readFileSync(new URL('../../../contracts/spoken-timeframes.ts', import.meta.url), 'utf8')
  expect(file).toBe(spokenTimeframesModule(loadModel()))
  const { timeframes } = loadModel()
  expect(TIMEFRAMES.filter((timeframe) => timeframes[timeframe].skill)).toEqual(SPOKEN_TIMEFRAMES)
})

test('what stands for the time before a model has outcomes is what its walk scored, of every model that is kept', () => {
  const file = readFileSync(new URL('../../../contracts/walked-auc.ts', import.meta.url), 'utf8')
  const models = KEPT_MODELS.map((version) => loadModel(keptModelFile(version)))
  expect(file).toBe(walkedAucModule(models))
  const [released] = models
  if (released === undefined) throw new Error('no model')
  const both = walkedAucModule([{ ...released, version: 'next-1' }, ...models])
  expect(both).toContain("  'next-1': {")
  expect(both).toContain(file.split('\n').find((line) => line.startsWith("  'barrier-4': {")))
})

test('a scan looks where calls are made, unless it is told otherwise', () => {
  const { timeframe } = TOOLS.scan_trade_calls.request.parse({})
  expect(loadModel().timeframes[timeframe as '1h'].skill).toBe(true)
})

test('the tools that make calls say where they never do', () => {
  for (const tool of ['get_trade_call', 'scan_trade_calls'] as const) {
    for (const timeframe of TIMEFRAMES)
      expect(TOOLS[tool].description).toMatch(new RegExp(`\\b${timeframe}\\b`))
  }
})

test.each(['prices.md', 'bots.md', 'paying.md'])('docs/%s says which timeframes have calls', (page) => {
  const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8')
  const words = `${SPOKEN_TIMEFRAMES.slice(0, -1).join(', ')} or ${SPOKEN_TIMEFRAMES.at(-1)}`
  expect(text).toContain(words)
})

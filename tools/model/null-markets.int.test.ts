import { beforeAll, describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { type VerdictRow, verdictRow } from '../../contracts/verdict-row.ts'
import { compare, NDJSON_LINES, type WhatIfSummary } from '../../services/cli/analyst/what-if.ts'
import type { BarOutcome } from '../../services/cli/kit/verdict-source.ts'
import { createRace, loadModel, SeriesEngine, type VerdictModel } from '../../services/engine/index.ts'
import type { Scores } from '../../services/engine/scoring/scores-schema.ts'
import { evaluateRecipe, prepare } from './fit-model.ts'
import { NULL_MARKETS, type NullMarket, nullMarket } from './null-markets.fixture.ts'
import { RECIPE } from './recipe.ts'
import type { SeriesHistory } from './series-history.ts'
import { lackOfSkill } from './skill.ts'

const quiet = (): void => undefined
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8]
/** Bars of 200 days remain after the first fit: as many as the gate asks for, and a few. */
const BARS = 8_200
const WHAT_IF_BARS = 2_500

/** Share of markets without anything to foresee that a condition on the lower end of a 95 % interval lets pass. */
const BY_LUCK = 1 / 40

/** So many of some trials succeed by luck alone, or fewer, but for once in a thousand. */
function mostByLuck(trials: number, rate: number): number {
  let term = (1 - rate) ** trials
  let sum = term
  let most = 0
  while (sum < 0.999) {
    term *= ((trials - most) / (most + 1)) * (rate / (1 - rate))
    sum += term
    most += 1
  }
  return most
}

interface Scored {
  readonly name: string
  readonly scores: Scores
  readonly reason: string | undefined
  /** Coins that would make calls if the timeframe did. */
  readonly coins: readonly string[]
}

/** The whole recipe on a market: fits, walk, placebo and gate. */
async function score(kind: NullMarket, seed: number): Promise<Scored> {
  const training = await prepare(nullMarket(kind, seed, BARS), RECIPE, quiet)
  const { evaluation, gate } =
    evaluateRecipe(training, '1h', quiet) ?? expect.fail('There was nothing to score.')
  const scores = { ...evaluation.all, placeboAuc: evaluation.placeboAuc }
  const coins = gate.coins.flatMap(({ coin, silence }) => (silence === undefined ? [coin] : []))
  return { name: `${kind} ${seed}`, scores, reason: lackOfSkill('1h', scores), coins }
}

describe('where nothing can be foreseen', () => {
  const scored: Scored[] = []

  beforeAll(async () => {
    for (const kind of NULL_MARKETS) for (const seed of SEEDS) scored.push(await score(kind, seed))
  }, 120_000)

  test('the gate lets no more markets pass than luck does', () => {
    const passed = scored.filter(({ reason }) => reason === undefined).map(({ name }) => name)
    expect(passed.length, passed.join(', ')).toBeLessThanOrEqual(mostByLuck(scored.length, BY_LUCK))
  })

  test('its first condition alone holds back as many', () => {
    const beyond = scored.filter(({ reason }) => reason?.includes("may be a coin's") !== true)
    const told = beyond.map(({ name, reason }) => `${name}: ${reason}`).join('\n')
    expect(beyond.length, told).toBeLessThanOrEqual(mostByLuck(scored.length, BY_LUCK))
  })

  test('no more coins are let pass than luck does', () => {
    const passed = scored.flatMap(({ name, coins }) => coins.map((coin) => `${name} ${coin}`))
    expect(passed.length, passed.join(', ')).toBeLessThanOrEqual(mostByLuck(2 * scored.length, BY_LUCK))
  })

  test('scores are a coin’s on either side', () => {
    const aucs = scored.map(({ scores }) => scores.auc ?? expect.fail('No race was decided.'))
    const outside = aucs.filter(({ low, high }) => (low ?? 1) > 0.5 || (high ?? 0) < 0.5)
    expect(outside.length).toBeLessThanOrEqual(mostByLuck(aucs.length, 2 * BY_LUCK))
    const mean = aucs.reduce((sum, { value }) => sum + value, 0) / aucs.length
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.01)
  })

  test.each(NULL_MARKETS.flatMap((kind) => [11, 12, 13].map((seed) => [kind, seed] as const)))(
    'two models on a %s market, seed %i: --what-if names no winner',
    async (kind, seed) => {
      const [market] = nullMarket(kind, seed, WHAT_IF_BARS)
      const summary = await comparison(market ?? expect.fail('There is no market.'))
      expect(summary.races).toBeGreaterThan(800)
      expect(summary.brier_difference?.low).toEqual(expect.any(Number))
      expect(summary.better).toBeNull()
    },
  )
})

const RELEASED = loadModel()
const LEFT_OUT = RELEASED.names.indexOf('range_position')
/** The same model without the feature that its reasons name first. */
const DAMAGED: VerdictModel = {
  ...RELEASED,
  version: 'damaged-1',
  weights: RELEASED.weights.map((weight, index) => (index % RELEASED.names.length === LEFT_OUT ? 0 : weight)),
}

/** The recorded verdicts of a market with their outcomes, beside another model. */
async function comparison({ series, bars }: SeriesHistory): Promise<WhatIfSummary> {
  const engine = new SeriesEngine({ model: RELEASED })
  const slot = engine.open(series)
  const rows: VerdictRow[] = []
  const outcomes: BarOutcome[] = []
  let open: { barClose: number; barrier: number; race: ReturnType<typeof createRace> }[] = []
  for (const bar of bars) {
    open = open.filter(({ race, barClose, barrier }) => {
      const end = race.take(bar)
      if (end !== undefined) outcomes.push({ ...end, barClose, barrier })
      return end === undefined
    })
    engine.push(slot, bar)
    const reading = engine.read(slot)
    if (reading.status !== 'verdict') continue
    const { verdict } = reading
    const { barClose, barrier } = verdict
    rows.push(verdictRow({ ...verdict, verdictId: 'x', previous: null, recordedLate: false }, '1', ''))
    open.push({ barClose, barrier, race: createRace({ barClose, barMs: HOUR_MS, windowBars: 8, barrier }) })
  }
  const newestFirst = outcomes.toSorted((a, b) => b.barClose - a.barClose)
  const source = {
    description: 'a market without anything to foresee',
    async *replay() {
      yield* rows
    },
    async *outcomes() {
      yield* newestFirst
    },
  }
  const request = { filter: {}, limit: rows.length, parameters: {}, signal: new AbortController().signal }
  const progress = { show: quiet, end: quiet }
  let last = ''
  for await (const line of compare(DAMAGED, source, request, { progress, lines: NDJSON_LINES })) last = line
  return (JSON.parse(last) as { summary: WhatIfSummary }).summary
}

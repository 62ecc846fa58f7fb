import {
  type Factor,
  type Forecast,
  likelierBarrier,
  type Verdict,
} from '../../../contracts/domain/verdict.ts'
import { BUY_ENTRY } from '../model/thresholds.ts'
import type { TimeframeSkill } from '../model/verdict-model.ts'
import type { FEATURE_NAMES } from './features.ts'
import { STILL_BARS, type Stillness } from './series-state.ts'

const STILLNESS_WORDS: Readonly<Record<Stillness, string>> = {
  moves: `the price has not moved for ${STILL_BARS} bars`,
  trades: `nothing was traded in ${STILL_BARS} bars`,
}

const FACTOR_WORDS: Readonly<Record<(typeof FEATURE_NAMES)[number], string>> = {
  price_to_ema50: 'distance to EMA50',
  wick_balance: 'shadows of the bars',
}

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** @example signed(-3.14159) // '-3.1' */
function signed(value: number): string {
  const size = Math.abs(value)
  return `${value < 0 ? '-' : '+'}${size >= 0.095 ? size.toFixed(1) : size.toPrecision(1)}`
}

/** Every part of the log-odds that is not 0: what was measured, and what it speaks for. */
function partsOf(factors: readonly Factor[]): string {
  const parts = factors.flatMap(({ name, value, contribution }) =>
    value === null || contribution === 0
      ? []
      : `${FACTOR_WORDS[name as keyof typeof FACTOR_WORDS]} (${signed(value)} ATR, speaks for ${contribution > 0 ? 'BUY' : 'SELL'})`,
  )
  return parts.length === 0 ? '' : ` ${capitalised(parts.join(' and '))}.`
}

/** @example percent(0.0106) // '1.1 %' */
function percent(fraction: number): string {
  const size = 100 * Math.abs(fraction)
  return `${size >= 0.95 ? size.toFixed(1) : size.toPrecision(2)} %`
}

const rangeOf = ({ p10, p90, volatility }: Forecast): string =>
  `In four of five windows the price ends within -${percent(p10)} and +${percent(p90)}; volatility ${percent(volatility)}.`

/** Percent that never says that a threshold was reached which was not. */
const roundedDown = (probability: number): string => `${(Math.floor(1_000 * probability) / 10).toFixed(1)} %`

/** The record of such calls, which is not about this one. */
function recordOf(
  { timeframe }: Pick<Verdict, 'timeframe'>,
  skill: TimeframeSkill & { calls: true },
): string {
  const { won, randomSides, confirmed } = skill
  const doubt = confirmed ? '' : ', not confirmed on the newest half year'
  return `At ${timeframe} such calls won ${won.toFixed(1)} % of decided outcomes outside of the fit, random sides ${randomSides.toFixed(1)} %${doubt}; after costs they earned nothing.`
}

/** The fields of a verdict that its sentences are about. */
export type Explained = Pick<Verdict, 'timeframe' | 'call' | 'probability' | 'factors' | 'forecast'>

/**
 * Plain sentences: how far the price may go, then the call and why it is so. Below 500 characters, all ASCII: with one
 * beyond Latin-1 an event takes twice the memory, and a row of a replay a sixth more time.
 *
 * @param skill of the model at the timeframe
 * @param withdrawn why calls are withdrawn there; undefined if they are not
 */
export function reasoningFor(
  verdict: Explained,
  skill: TimeframeSkill,
  stillness: Stillness | undefined,
  withdrawn: string | undefined,
): string {
  if (stillness !== undefined) return `HOLD, because ${STILLNESS_WORDS[stillness]}; nothing can be measured.`
  const range = verdict.forecast === null ? '' : `${rangeOf(verdict.forecast)} `
  return `${range}${callWords(verdict, skill, withdrawn)}`
}

function callWords(verdict: Explained, skill: TimeframeSkill, withdrawn: string | undefined): string {
  const { call, probability, factors } = verdict
  const parts = partsOf(factors)
  if (!skill.calls) return `HOLD, because ${skill.reason}.${parts}`
  if (withdrawn !== undefined) return `HOLD, because ${withdrawn}.${parts}`
  const likelier = Math.max(probability, 1 - probability)
  const first = `the ${likelierBarrier(probability)} barrier comes first with ${Math.round(100 * likelier)} %, if one is reached`
  if (call === 'HOLD')
    return `HOLD, because neither barrier is likely enough to come first: ${roundedDown(likelier)} for the ${likelierBarrier(probability)} one, and a call begins at ${percent(BUY_ENTRY)}.${parts}`
  const lasts = likelier < BUY_ENTRY ? ` (the call began at ${percent(BUY_ENTRY)})` : ''
  return `${call}: ${first}${lasts}.${parts} ${recordOf(verdict, skill)}`
}

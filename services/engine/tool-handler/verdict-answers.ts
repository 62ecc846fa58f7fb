import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { UNCONFIRMED_TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import { forecastShown, type Verdict } from '../../../contracts/domain/verdict.ts'
import { textOf } from '../../../contracts/infra/json.ts'
import {
  type GetMarketRegimeResponse,
  type GetTradeCallResponse,
  verifyUrl,
} from '../../../contracts/tools/tool-schemas.ts'
import type { FreshReading } from './board-reading.ts'

type AgelessAnswer = Omit<GetTradeCallResponse, 'data_age_ms'>

/** The last answer about a verdict, but for its age: it is asked for again and again until the next bar. */
const ageless = new WeakMap<Verdict, { readonly kind: string; readonly answer: AgelessAnswer }>()

/** The answer of `get_trade_call`. */
export function tradeCallAnswer(
  { verdict, dataAgeMs }: Pick<FreshReading, 'verdict' | 'dataAgeMs'>,
  includeFactors: boolean,
  publicUrl: string,
): GetTradeCallResponse {
  const kind = `${includeFactors} ${publicUrl}`
  let known = ageless.get(verdict)
  if (known?.kind !== kind) known = { kind, answer: answerAbout(verdict, includeFactors, publicUrl) }
  ageless.set(verdict, known)
  const answer = { ...known.answer, data_age_ms: dataAgeMs }
  textOf(answer, textOf(known.answer).with(`"data_age_ms":${dataAgeMs}`))
  return answer
}

const answerAbout = (verdict: Verdict, includeFactors: boolean, publicUrl: string): AgelessAnswer => ({
  call: verdict.call,
  confidence: verdict.confidence,
  strength: verdict.strength,
  regime: verdict.regime,
  coin: verdict.coin,
  timeframe: verdict.timeframe,
  exchange: verdict.exchange,
  probability: verdict.probability,
  barrier: verdict.barrier,
  ...forecastShown(verdict.forecast),
  price: verdict.price,
  bar_close: isoTime(verdict.barClose),
  valid_until: isoTime(verdict.validUntil),
  verdict_id: verdict.verdictId,
  model_version: verdict.modelVersion,
  factors: includeFactors ? verdict.factors : [],
  reasoning: verdict.reasoning,
  ...(UNCONFIRMED_TIMEFRAMES.includes(verdict.timeframe) && { unconfirmed: true }),
  verify_url: verifyUrl(publicUrl, verdict),
})

/** The answer of `get_market_regime`; without metrics where nobody is there who measured. */
export const marketRegimeAnswer = (
  {
    verdict,
    metrics,
    dataAgeMs,
  }: Pick<FreshReading, 'verdict' | 'dataAgeMs'> & Partial<Pick<FreshReading, 'metrics'>>,
  publicUrl: string,
): GetMarketRegimeResponse => ({
  call: verdict.call,
  confidence: verdict.confidence,
  regime: verdict.regime,
  regime_since: isoTime(verdict.regimeSince),
  regime_strength: verdict.regimeStrength,
  volatility_percentile: verdict.volatilityPercentile,
  ...(metrics && {
    percentile_bars: metrics.percentileBars,
    direction: metrics.direction,
    liveliness: metrics.liveliness,
  }),
  metrics: {
    rsi: metrics?.rsi14 ?? null,
    adx: metrics?.adx14 ?? null,
    plus_di: metrics?.plusDi14 ?? null,
    minus_di: metrics?.minusDi14 ?? null,
    atr_percent: metrics?.atrPercent ?? null,
    ema_gap_atr: metrics?.emaGapAtr ?? null,
    realised_volatility: metrics?.realisedVolatility ?? null,
  },
  coin: verdict.coin,
  timeframe: verdict.timeframe,
  exchange: verdict.exchange,
  bar_close: isoTime(verdict.barClose),
  verdict_id: verdict.verdictId,
  verify_url: verifyUrl(publicUrl, verdict),
  data_age_ms: dataAgeMs,
})

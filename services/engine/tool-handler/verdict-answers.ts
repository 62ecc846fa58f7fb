import { isoTime } from '../../../contracts/iso-time.ts'
import type { GetMarketRegimeResponse } from '../../../contracts/tools/get-market-regime.ts'
import type { GetTradeCallResponse } from '../../../contracts/tools/get-trade-call.ts'
import { verifyUrl } from '../../../contracts/tools/tool-fields.ts'
import { forecastShown, probabilitiesShown } from '../../../contracts/verdict.ts'
import { UNCONFIRMED } from '../../../contracts/walked-auc.ts'
import type { FreshReading } from './board-reading.ts'

/** The answer of `get_trade_call`. */
export const tradeCallAnswer = (
  { verdict, dataAgeMs }: Pick<FreshReading, 'verdict' | 'dataAgeMs'>,
  includeFactors: boolean,
  publicUrl: string,
): GetTradeCallResponse => ({
  call: verdict.call,
  confidence: verdict.confidence,
  strength: verdict.strength,
  regime: verdict.regime,
  coin: verdict.coin,
  timeframe: verdict.timeframe,
  exchange: verdict.exchange,
  ...probabilitiesShown(verdict),
  barrier: verdict.barrier,
  ...forecastShown(verdict.forecast),
  price: verdict.price,
  bar_close: isoTime(verdict.barClose),
  valid_until: isoTime(verdict.validUntil),
  verdict_id: verdict.verdictId,
  model_version: verdict.modelVersion,
  factors: includeFactors ? verdict.factors : [],
  reasoning: verdict.reasoning,
  ...(UNCONFIRMED[verdict.modelVersion]?.includes(verdict.timeframe) && { unconfirmed: true }),
  verify_url: verifyUrl(publicUrl, verdict),
  data_age_ms: dataAgeMs,
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

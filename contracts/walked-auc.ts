import type { Timeframe } from './timeframes.ts'

/**
 * AUC over the newest days of the walk that scored a model, by its version: it stands for the time before there are
 * outcomes of its own. Written by `npm run docs` from the verdict models that come with this release.
 */
export const WALKED_AUC: Readonly<Record<string, Partial<Record<Timeframe, number>>>> = {
  'barrier-5': { '3m': 0.516943, '5m': 0.516029, '15m': 0.52629, '30m': 0.531861, '1h': 0.542088 },
  'barrier-4': { '3m': 0.516943, '5m': 0.516029, '15m': 0.52629, '30m': 0.531861, '1h': 0.542088 },
}

/** Timeframes at which a model makes calls, though the bars that chose nothing do not tell them from a coin. */
export const UNCONFIRMED: Readonly<Record<string, readonly Timeframe[]>> = {
  'barrier-5': ['30m', '1h'],
  'barrier-4': ['30m', '1h'],
}

import type { Timeframe } from './timeframes.ts'

/**
 * AUC over the newest days of the walk that scored a model, by its version: it stands for the time before there are
 * outcomes of its own. Written by `npm run docs` from the verdict models that come with this release.
 */
export const WALKED_AUC: Readonly<Record<string, Partial<Record<Timeframe, number>>>> = {
  'barrier-4': { '3m': 0.516943, '5m': 0.516029, '15m': 0.52629, '30m': 0.531861, '1h': 0.542088 },
}

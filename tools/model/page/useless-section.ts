import { table } from './cells.ts'

/** Changes that were measured and not built, with what each brought. */
export const uselessSection = (): string[] => [
  '## What was measured and brings nothing?',
  'Each was tried on the same walk and the same bars, and is not built. *Pinball* is the change of the loss of p10 and p90 at 1h beside the ranges of this release, in percent, with half of its 95 % interval; a positive one is better.',
  table(
    ['Tried', 'Brought'],
    [
      [
        'Averages of realised variance over a day, a week and a month (HAR, [Corsi 2009](https://doi.org/10.1093/jjfinec/nbp001)) in place of its own',
        'pinball −0.20 ±0.22; R² .568 beside .567',
      ],
      ['HAR with volume and the range of BTC', 'pinball −0.15 to −0.45 at 15m–1h; R² .569'],
      ['Longer averages beside its own', 'pinball +0.02 ±0.04'],
      ['Volume', 'pinball +0.06 ±0.05'],
      ['The range of all other coins', 'pinball −0.02 ±0.01'],
      ['Whether the market fell', 'pinball −0.02 ±0.03'],
      ['All of these together', 'pinball 0 ±0.09'],
      ['Fitting on the newest 90 or 365 days only', 'pinball −0.1 to 0'],
      ['Quantile regression', 'pinball −0.2'],
      ['Boosted trees over all of these', 'pinball −0.03 ±0.18, and −0.03 ±0.44 on the newest half year'],
      ['The number of trades, in the five recordings that have it', 'R² −.06 to +.01, pinball ±0.7'],
      ['A factor by `volatility_percentile`', 'pinball +0.09 ±0.07 to 2025-06, −0.13 ±0.13 after'],
      [
        'A width of each series that follows its own misses ([Gibbs and Candès 2021](https://arxiv.org/abs/2106.00170))',
        'more coins in years within 76–84 %, wider and worse: [decision 0148](decisions/0148-ranges-from-one-fit-and-two-years.md)',
      ],
    ],
  ),
  'A scale that knew the variance of its own window would have a pinball 14 to 16 % below that of an EWMA at 1h; these ranges are 3.2 to 3.5 % below it. That is as much as is known to be reachable: HAR is the usual yardstick of forecasts of realised variance, and QLIKE the loss that ranks them although variance is itself measured with noise ([Patton 2011](https://doi.org/10.1016/j.jeconom.2010.03.034)).',
]

import { FEWEST_FOR_PERCENT } from '../../../contracts/share-text.ts'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import type { TimeframeGate } from '../../../services/engine/gate.ts'
import type { VerdictModel } from '../../../services/engine/model.ts'
import { NO_SKILL, SOME_SKILL, simulateSpeech } from '../speech/simulate-speech.ts'
import { interval, table } from './cells.ts'

/** Timeframes whose scores are told apart, the shortest first. */
const gates = ({ gate }: VerdictModel): (readonly [Timeframe, TimeframeGate])[] =>
  TIMEFRAMES.flatMap((timeframe) => {
    const one = gate[timeframe]
    return one === undefined ? [] : [[timeframe, one] as const]
  })

/** How skill differs by coin. */
export function coinSection(model: VerdictModel): string[] {
  const scored = gates(model)
  if (scored.length === 0) return []
  const coins = [...new Set(scored.flatMap(([, { coins: all }]) => all.map(({ coin }) => coin)))].toSorted()
  const rows = coins.map((coin) => [
    coin,
    ...scored.map(([, { coins: all }]) => {
      const found = all.find((one) => one.coin === coin)
      if (found === undefined) return ''
      return `${interval(found.auc, 3)}${found.silence === undefined ? '' : ' HOLD only'}`
    }),
  ])
  return [
    '## Is it as good on every coin?',
    'No. The AUC of each coin, walked forward as above. A coin answers HOLD at a timeframe where its interval reaches down to 0.5; its verdicts say so. For a coin that was not recorded the score of the timeframe stands.',
    table(['Coin', ...scored.map(([timeframe]) => timeframe)], rows),
  ]
}

/** The results of calls by their confidence. */
export function confidenceSection(model: VerdictModel): string[] {
  const scored = gates(model)
  if (scored.length === 0) return []
  const all = scored.flatMap(([, { confidences }]) => confidences)
  const levels = Map.groupBy(all, ({ from, to }) => (from === to ? String(from) : `${from}–${to}`))
  const rows = [...levels.entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([level, own]) => [
      level,
      ...scored.map(([, { confidences }]) => {
        const found = confidences.find((one) => own.includes(one))
        if (found === undefined || found.calls < FEWEST_FOR_PERCENT) return ''
        const { calls, won, inFavour, gross } = found
        const shares = [won, inFavour].map(({ value }) => (100 * value).toFixed(1)).join(' / ')
        return `${calls.toLocaleString('en')}: ${shares}; ${interval(gross, 1)}`
      }),
    ])
  return [
    '## Does a surer call earn more?',
    'Hardly, and no level of confidence pays the 12 basis points of costs beyond its interval. The same calls by the confidence that they were made with, those of silent coins among them. A cell has how many there were, where there were a hundred; the percentages *won* and *in favour*; and the *gross* return in basis points.',
    table(['Confidence, %', ...scored.map(([timeframe]) => timeframe)], rows),
  ]
}

/** How fast and how surely calls are withdrawn from a model that has lost its skill. */
export function speechSection(model: VerdictModel): string[] {
  const percent = (share: number): string => `${(100 * share).toFixed(0)} %`
  const rows = gates(model).flatMap(([timeframe]) => {
    const { low, high } = model.timeframes[timeframe].measured?.newestAuc ?? {}
    if (typeof low !== 'number' || typeof high !== 'number') return []
    const found = simulateSpeech(model.version, timeframe, (high - low) / 2)
    const cells = [percent(found.silentWithoutSkill), percent(found.silentWithSkill)]
    return [
      [
        timeframe,
        String(found.windowDays),
        found.deviation.toFixed(4),
        ...cells,
        String(found.daysToSilence),
      ],
    ]
  })
  if (rows.length === 0) return []
  return [
    '## How soon would it fall silent?',
    `While it runs, [its outcomes decide](track-record.md#when-does-the-service-stop-making-calls) whether calls go on. That rule was simulated: a model with a true AUC of ${NO_SKILL} or ${SOME_SKILL}, day by day, with noise as large as the interval of the newest 180 days above. *Silent* is the share of days on which calls are withdrawn. *Days to silence* is the median, for a skill that ends on the day of the release.`,
    table(
      [
        'Timeframe',
        'Days judged',
        'Deviation of the AUC',
        `Silent at ${NO_SKILL.toFixed(2)}`,
        `Silent at ${SOME_SKILL}`,
        'Days to silence',
      ],
      rows,
    ),
    'It is sure rather than fast: half a year up to 15m, and more than a year and a half from 30m on. No rule is both, because the outcomes of fewer days are mostly chance.',
  ]
}

import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import type { Skill, VerdictModel } from '../../../services/engine/model.ts'
import { confirmed, grouped, interval, parameter, SHOWN_TIMEFRAME, table } from './cells.ts'

/** When the forecasts of closes were first scored on the bars that had chosen nothing. */
const LOOKED_ON = '2026-11-24'

/** The sections about the second forecast: on which side of its entry a window closes. None where no timeframe has one. */
export function closesSection({ names, timeframes, provenance }: VerdictModel): string[] {
  const measured = TIMEFRAMES.flatMap((timeframe) => {
    const { closes, measured: races } = timeframes[timeframe]
    return closes === undefined ? [] : [{ timeframe, closes, races }]
  })
  if (measured.length === 0) return []
  const isPaid = measured.some(({ races }) => races?.untouchedGross !== undefined)
  const from = new Date(provenance.recipe.chosenUntil ?? provenance.to).toISOString().slice(0, 10)
  return [
    '## Does the window close higher?',
    'Which barrier comes first is one question, and where the price stands at the end of the window is another. *Closed as called* answers the second one for BUY and SELL: a call is followed a little more often by a close on the other side of its entry. Small moves back are frequent, and large ones on are rare; so a race can be won more often than lost while the close is wrong more often than right. A call is a statement about the shape of what follows, not about the side that it ends on.',
    `So there is a second probability, \`closes_higher\`: that the last close of the window is above its first open, whichever barrier was reached. It has coefficients of its own on the same factors. Label, walk, calibration and the four conditions are as above, with the side of the close in place of the barrier; a close at the entry counts for neither. Where a condition fails no such probability is given. The call goes by the race.${isPaid ? ` It would go by the close where that earns more, by a test that [was written down before it was made](decisions/0149-a-call-goes-by-what-pays.md). *Return* is the mean of the calls apart from ${from} on, in basis points before costs, by the race and by the close.` : ' It would go by the close where that [is shown to earn more](decisions/0149-a-call-goes-by-what-pays.md).'}`,
    `Features and recipe were chosen on bars before ${from}. The forecasts of closes were scored on the bars from then on once, on ${LOOKED_ON}; nothing was chosen by it, though the conditions count over all bars, these included. That such a forecast is worth a try was known from a study that had seen these bars.`,
    table(
      [
        'Timeframe',
        'Closed as called, %',
        `AUC before ${from}`,
        `AUC from ${from}`,
        'Placebo AUC',
        'Brier spoken',
        'Calibration error',
        ...(isPaid ? ['Return by the race, bps', 'Return by the close, bps'] : []),
        'Slope',
        'Given',
      ],
      measured.map(({ timeframe, closes, races }) => [
        timeframe,
        interval(races?.closedAsCalled ?? null, 1, 100),
        ...scoreCells(closes),
        ...(isPaid
          ? [races?.untouchedGross, closes.measured?.untouchedGross].map((one) => interval(one ?? null, 1))
          : []),
        closes.skill ? parameter(closes.slope) : '',
        closes.skill
          ? `yes${confirmed(closes)}`
          : `no: ${closes.reason.replace(/^no skill was measured at \w+: /, '')}`,
      ]),
    ),
    `How far it can be trusted, at ${SHOWN_TIMEFRAME}: tenths of the forecasts that the window closes higher, beside how often it did.`,
    table(
      ['Forecasts', 'Windows', 'Said', 'Happened'],
      (timeframes[SHOWN_TIMEFRAME].closes?.measured?.reliability ?? []).map((bin) => [
        `${bin.from.toFixed(3)}–${bin.to.toFixed(3)}`,
        grouped(bin.races),
        bin.said.toFixed(3),
        bin.happened.toFixed(3),
      ]),
    ),
    'Its coefficients and, in brackets, its scales; below them the slope:',
    coefficientsTable(names, measured),
  ]
}

function scoreCells({ measured }: Skill): string[] {
  if (measured === undefined) return ['', '', '', '', '']
  const { chosenAuc, untouchedAuc, placeboAuc, brierSpoken, calibrationError } = measured
  return [
    interval(chosenAuc ?? null, 3),
    interval(untouchedAuc ?? null, 3),
    interval(placeboAuc, 3),
    interval(brierSpoken, 4),
    calibrationError === null ? '' : calibrationError.toFixed(3),
  ]
}

type Measured = readonly { readonly timeframe: string; readonly closes: Skill }[]

function coefficientsTable(names: VerdictModel['names'], measured: Measured): string {
  const given = measured.flatMap(({ timeframe, closes }) => (closes.skill ? [{ timeframe, ...closes }] : []))
  return table(
    ['Factor', ...given.map(({ timeframe }) => timeframe)],
    [
      ...names.map((name, index) => [
        `\`${name}\``,
        ...given.map(
          ({ scales, coefficients }) => `${parameter(coefficients[index])} (${parameter(scales[index])})`,
        ),
      ]),
      ['slope', ...given.map(({ slope }) => parameter(slope))],
    ],
  )
}

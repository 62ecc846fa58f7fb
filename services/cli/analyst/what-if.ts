import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { shareText } from '../../../contracts/share-text.ts'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import { CALLS, type Call } from '../../../contracts/verdict.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import { type CallTally, countCall, NO_CALLS } from '../../../projections/index.ts'
import {
  blockMean,
  blockOf,
  createWhatIf,
  interval,
  loadModel,
  type Measure,
  type OtherSaying,
  type VerdictModel,
  wasSilenced,
} from '../../engine/index.ts'
import type { CommandInput } from '../kit/command.ts'
import type { SOURCE_FLAGS } from '../kit/common-flags.ts'
import { withVerdictSource } from '../kit/open-verdict-source.ts'
import { createProgressLine, grouped, type ProgressLine } from '../kit/progress-line.ts'
import type { BarOutcome, VerdictRequest, VerdictSource } from '../kit/verdict-source.ts'
import { writeToStream } from '../kit/write-output.ts'
import { type FittedOn, fittedOn } from './fitted-on.ts'

export const TABLE = 'table'

/** Rows that wait for the end to be scored: some 100 MB. */
const MOST_ROWS = 2_000_000

type WhatIfInput = CommandInput<typeof SOURCE_FLAGS> & {
  readonly flags: {
    readonly format?: string | undefined
    readonly follow: boolean
    readonly call?: unknown
  }
}

/**
 * Writes what another model would have said beside recorded verdicts, and what became of both.
 *
 * @throws ServiceError `config_invalid` for a file that is no model of this release, flags that leave out bars, and a
 *   period without verdicts or with too many; what the source refuses with
 */
export async function writeWhatIf(file: string, request: VerdictRequest, input: WhatIfInput): Promise<void> {
  const { flags } = input
  const refused = flags.follow ? '--follow' : flags.call === undefined ? undefined : '--call'
  if (refused !== undefined)
    throw invalid(
      `--what-if and ${refused} exclude one another: a call follows from every bar of a period that is over`,
    )
  if (flags.format === 'csv') throw invalid(`--what-if is written as ${TABLE} or ndjson, not as csv`)
  const model = loadModel(file)
  const lines = flags.format === 'ndjson' ? NDJSON_LINES : TABLE_LINES
  await withVerdictSource(input, (source) =>
    writeToStream(
      input.stdout,
      compare(model, source, request, { progress: createProgressLine(input), lines }),
    ),
  )
}

const invalid = (message: string): ServiceError => new ServiceError('config_invalid', { message })

interface Lines {
  readonly row: (row: VerdictRow, other: OtherSaying) => string
  readonly summary: (summary: WhatIfSummary, fitted: string) => string
}

export async function* compare(
  model: VerdictModel,
  source: Pick<VerdictSource, 'replay' | 'outcomes' | 'description'>,
  request: VerdictRequest,
  { progress, lines }: { readonly progress: ProgressLine; readonly lines: Lines },
): AsyncGenerator<string, void, void> {
  const whatIf = createWhatIf(model)
  const tally = new Tally()
  for await (const row of source.replay(request)) {
    const other = whatIf(row)
    tally.take(row, other)
    progress.show(`${grouped(tally.rows)} verdicts`)
    yield lines.row(row, other)
  }
  request.signal.throwIfAborted()
  if (tally.rows === 0)
    throw invalid(
      `${source.description} shows no verdict of this period and these series. Widen --from, --to, --exchange, --coin or --timeframe`,
    )
  let scored = 0
  for (const { series, from, score } of tally.ended()) {
    for await (const outcome of source.outcomes(series, from, request.signal)) {
      score(outcome)
      progress.show(`${grouped((scored += 1))} outcomes`)
    }
  }
  request.signal.throwIfAborted()
  const fitted = tally.fitted(model)
  progress.end(`${grouped(tally.rows)} verdicts from ${source.description} beside ${model.version}`)
  yield lines.summary(
    { other_model: model.version, fitted: fitted.relation, ...tally.summary() },
    fitted.text,
  )
}

/** Results of one side, on the bars at which both calls are known. */
interface SideSummary extends JsonObject {
  readonly buy: number
  readonly sell: number
  readonly hold: number
  /** Calls whose race reached a barrier, and of these those that won. */
  readonly decided: number
  readonly won: number
  /** Calls with a known exit, and which share of them ended in favour of what was called. */
  readonly exits: number
  readonly in_favour: number | null
  /** Mean squared error of the forecast over the races of both; 0.25 is a coin. */
  readonly brier: number | null
}

export interface WhatIfSummary extends JsonObject {
  readonly other_model: string
  readonly fitted: string
  readonly rows: number
  /** Rows at which both calls are known; agreements, and the calls of either, are counted among them. */
  readonly compared: number
  readonly agreements: number
  /** Rows whose other call depends on bars before the period, or on missing ones. */
  readonly untold: number
  /** Rows without a feature that the other model weighs, by feature. */
  readonly lacking: Readonly<Record<string, number>>
  /** Rows whose recorded call is HOLD because calls were withdrawn. */
  readonly withdrawn: number
  /** Rows recorded after the end of their window: they are not scored. */
  readonly late: number
  /** Races that one barrier won, at bars where both forecasts are known. */
  readonly races: number
  /** Brier score of the other model less that of the recorded one, race by race; null without races. */
  readonly brier_difference: (Measure & JsonObject) | null
  /** The model whose forecasts beat the other's and one half, both beyond their 95 % intervals; null where none does. */
  readonly better: 'recorded' | 'other' | null
  readonly recorded: SideSummary
  readonly other: SideSummary
}

/** Numbers kept for a row until its outcome comes: close, both probabilities, both calls. */
const WAITING = 5
const UNTOLD = -1

/** One of the two models: what it called, and what came of it. */
class Side {
  readonly said: Record<Call, number> = { BUY: 0, SELL: 0, HOLD: 0 }
  #calls: CallTally = NO_CALLS
  /** Squared error of the forecast of each race. */
  readonly errors: number[] = []

  score(outcome: BarOutcome, probability: number, call: Call | undefined): void {
    if (isDecided(outcome)) this.errors.push((probability - (outcome.race === 'up' ? 1 : 0)) ** 2)
    if (call !== undefined && call !== 'HOLD') this.#calls = countCall(this.#calls, { ...outcome, call })
  }

  summary(brier: Measure | undefined): SideSummary {
    const { reached, wins, trades, inFavour } = this.#calls
    return {
      buy: this.said.BUY,
      sell: this.said.SELL,
      hold: this.said.HOLD,
      decided: reached,
      won: wins,
      exits: trades,
      in_favour: trades === 0 ? null : inFavour / trades,
      brier: brier?.value ?? null,
    }
  }
}

const isDecided = ({ race }: BarOutcome): boolean => race === 'up' || race === 'down'

/** Brier score of always saying one half. */
const COIN_BRIER = 0.25

/**
 * Louder forecasts of noise score worse than quiet ones, so the better of two may know as little as the other: a
 * winner has to beat a coin as well.
 */
function betterOf(
  recorded: Measure | undefined,
  other: Measure | undefined,
  difference: Measure | undefined,
): WhatIfSummary['better'] {
  const beatsCoin = (one: Measure | undefined): boolean => (one?.high ?? 1) < COIN_BRIER
  if ((difference?.low ?? 0) > 0) return beatsCoin(recorded) ? 'recorded' : null
  return (difference?.high ?? 0) < 0 && beatsCoin(other) ? 'other' : null
}

/** Counts rows, and scores both sides as outcomes come. */
class Tally {
  readonly #waiting = new Map<string, { readonly series: Series; readonly cells: number[] }>()
  readonly #recorded = new Side()
  readonly #other = new Side()
  readonly #lacking = new Map<string, number>()
  readonly #count = { rows: 0, compared: 0, agreements: 0, untold: 0, withdrawn: 0, late: 0 }
  /** Close of the bar of each race. */
  readonly #raceTimes: number[] = []
  readonly #period = { from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY }

  take(row: VerdictRow, said: OtherSaying): void {
    const count = this.#count
    count.rows += 1
    if (count.rows > MOST_ROWS)
      throw invalid(
        `There are more than ${grouped(MOST_ROWS)} verdicts. Narrow --from, --to, --coin or --timeframe`,
      )
    const barClose = Date.parse(row.bar_close)
    this.#period.from = Math.min(this.#period.from, barClose)
    this.#period.to = Math.max(this.#period.to, barClose)
    const cells = this.#cellsOf(row)
    if (wasSilenced(row)) count.withdrawn += 1
    if (row.recorded_as === 'late') count.late += 1
    if (said.kind === 'lacking') {
      for (const feature of said.features) this.#lacking.set(feature, (this.#lacking.get(feature) ?? 0) + 1)
      return
    }
    if (said.call === null) count.untold += 1
    else {
      count.compared += 1
      if (said.call === row.call) count.agreements += 1
      this.#recorded.said[row.call] += 1
      this.#other.said[said.call] += 1
    }
    if (row.recorded_as === 'late') return
    const calls = [CALLS.indexOf(row.call), said.call === null ? UNTOLD : CALLS.indexOf(said.call)]
    cells.push(barClose, row.probability, said.probability, ...calls)
  }

  #cellsOf(row: VerdictRow): number[] {
    const name = seriesName(row)
    const { exchange, coin, timeframe } = row
    const kept = this.#waiting.get(name) ?? { series: { exchange, coin, timeframe }, cells: [] }
    this.#waiting.set(name, kept)
    return kept.cells
  }

  /** Takes the outcomes of a series, newest first; those of other bars are passed over. */
  #scorer(cells: readonly number[]): (outcome: BarOutcome) => void {
    assert(cells.length % WAITING === 0, 'a row that waits for its outcome has all its numbers', cells.length)
    let at = cells.length - WAITING
    return (outcome) => {
      while (at >= 0 && (cells[at] ?? 0) > outcome.barClose) at -= WAITING
      if (at < 0 || cells[at] !== outcome.barClose) return
      const [said = 0, otherSaid = 0, call = UNTOLD, otherCall = UNTOLD] = cells.slice(at + 1, at + WAITING)
      if (isDecided(outcome)) this.#raceTimes.push(outcome.barClose)
      this.#recorded.score(outcome, said, otherCall === UNTOLD ? undefined : CALLS[call])
      this.#other.score(outcome, otherSaid, CALLS[otherCall])
    }
  }

  get rows(): number {
    return this.#count.rows
  }

  fitted(model: VerdictModel): FittedOn {
    return fittedOn(
      model,
      [...this.#waiting.values()].map(({ series }) => series),
      this.#period,
    )
  }

  /** The series that wait for outcomes, and from which bar on. */
  *ended() {
    for (const { series, cells } of this.#waiting.values()) {
      const [first] = cells
      if (first !== undefined) yield { series, from: first, score: this.#scorer(cells) }
    }
  }

  summary() {
    assert(this.#count.agreements <= this.#count.compared, 'no more calls agree than are compared')
    const shown = new Set([...this.#waiting.values()].map(({ series }) => series.timeframe))
    // Races of several timeframes overlap as those of the longest do.
    const longest = TIMEFRAMES.findLast((timeframe) => shown.has(timeframe)) ?? '1m'
    const blocks = this.#raceTimes.map((barClose) => blockOf(longest, barClose))
    const mean = (errors: readonly number[]) => blockMean(errors, blocks)
    const [recorded, other] = [this.#recorded.errors, this.#other.errors]
    const [brier, otherBrier] = [mean(recorded), mean(other)]
    const difference = mean(other.map((error, place) => error - (recorded[place] ?? 0)))
    return {
      ...this.#count,
      races: blocks.length,
      brier_difference: difference
        ? { value: difference.value, low: difference.low, high: difference.high }
        : null,
      better: betterOf(brier, otherBrier, difference),
      lacking: Object.fromEntries(this.#lacking),
      recorded: this.#recorded.summary(brier),
      other: this.#other.summary(otherBrier),
    }
  }
}

export const NDJSON_LINES: Lines = {
  row({ verdict_id, exchange, coin, timeframe, bar_close, call, probability, model_version }, said) {
    const recorded = { model_version, call, probability }
    const other =
      said.kind === 'said'
        ? { call: said.call, probability: said.probability }
        : { call: null, probability: null, lacking: said.features }
    return `${JSON.stringify({ verdict_id, exchange, coin, timeframe, bar_close, recorded, other })}\n`
  },
  summary: (summary) => `${JSON.stringify({ summary })}\n`,
}

const said = (call: Call | null, probability: number): string =>
  `${(call ?? '?').padEnd(4)} ${probability.toFixed(4)}`

export const TABLE_LINES: Lines = {
  row(row, other) {
    const name = `${row.exchange} ${row.coin} ${row.timeframe}`.padEnd(20)
    const beside =
      other.kind === 'said'
        ? `${said(other.call, other.probability)}${other.call === null || other.call === row.call ? '' : '  differs'}`
        : `lacks ${other.features.join(', ')}`
    return `${row.bar_close}  ${name}  ${said(row.call, row.probability)}  ${beside}\n`
  },
  summary(summary, fitted) {
    const { rows, compared, agreements, untold, lacking, withdrawn, late, races, better } = summary
    const difference = summary.brier_difference
    const line = (name: string, of: (side: SideSummary) => string): string =>
      `${name.padEnd(28)}${of(summary.recorded).padStart(14)}${of(summary.other).padStart(14)}`
    const left = [
      [untold, 'whose other call depends on bars that are not there'],
      ...Object.entries(lacking).map(
        ([feature, count]) => [count, `without ${feature}, which it weighs`] as const,
      ),
      [withdrawn, 'whose recorded call was withdrawn'],
      [late, 'recorded late, and not scored'],
    ] as const
    const lines = [
      '',
      `${grouped(rows)} verdicts beside ${summary.other_model}: ${grouped(compared)} compared, ${grouped(agreements)} agree.`,
      ...left.filter(([count]) => count > 0).map(([count, what]) => `${grouped(count)} ${what}.`),
      fitted,
      'Information, not advice.',
      '',
      `${''.padEnd(28)}${'recorded'.padStart(14)}${'other'.padStart(14)}`,
      line('BUY', ({ buy }) => grouped(buy)),
      line('SELL', ({ sell }) => grouped(sell)),
      line('HOLD', ({ hold }) => grouped(hold)),
      line('calls decided', ({ decided }) => grouped(decided)),
      line('  won', ({ won }) => grouped(won)),
      line('calls with an exit', ({ exits }) => grouped(exits)),
      line('  in favour', ({ in_favour, exits }) => shareText(in_favour, exits)),
      line(`Brier, ${grouped(races)} races`, ({ brier }) => brier?.toFixed(5) ?? 'unknown'),
      `Brier, other less recorded: ${difference === null ? 'unknown' : interval(difference, 5)}.`,
      better === null
        ? 'Neither is shown to be the better one: that would have to beat the other, and a coin, beyond the 95 % interval.'
        : `The ${better} model is shown to be the better one, beyond the 95 % interval.`,
    ]
    return `${lines.join('\n')}\n`
  },
}

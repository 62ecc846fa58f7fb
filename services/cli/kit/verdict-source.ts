import type { BarsAnswer } from '../../../contracts/bars-answer.ts'
import type { RaceEnd } from '../../../contracts/outcome.ts'
import type { Series } from '../../../contracts/series.ts'
import type { VerdictRow } from '../../../contracts/verdict-row.ts'
import type { Verification } from '../../../contracts/verification.ts'
import type { ReplayOptions } from '../../analyst/index.ts'

/** A selection of verdicts, as options of a replay and as the query that a server takes. */
export interface VerdictRequest extends Pick<ReplayOptions, 'filter' | 'limit' | 'upTo'> {
  /** The cursor of the last row that was read; without it a replay begins at the beginning, and following now. */
  readonly after?: ReplayOptions['after']
  readonly parameters: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** The outcome of the verdict at a bar; Unix milliseconds. */
export interface BarOutcome extends RaceEnd {
  readonly barClose: number
}

export interface VerdictSource {
  /** Its name for people: continues "from". */
  readonly description: string
  replay(request: VerdictRequest): AsyncIterable<VerdictRow>
  /** @throws ServiceError `config_invalid` where nothing can be appended meanwhile. */
  follow(request: VerdictRequest): AsyncIterable<VerdictRow>
  /** @throws ServiceError `verdict_unknown` */
  verify(verdictId: string, signal: AbortSignal): Promise<Verification>
  /** The outcomes of a series whose bars close at an instant or later; newest first. */
  outcomes(series: Series, from: number, signal: AbortSignal): AsyncIterable<BarOutcome>
  /**
   * Bars of a series that open in [from, to), a page at a time.
   *
   * @throws ServiceError `config_invalid` where there is no market to ask
   */
  bars(
    series: Series,
    period: { readonly from: number; readonly to: number },
    signal: AbortSignal,
  ): AsyncIterable<BarsAnswer>
  close(): Promise<void>
}

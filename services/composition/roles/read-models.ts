import { ServiceError } from '../../../contracts/errors.ts'
import type { MarketKind } from '../../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { decided, recordMonths, regimeShifts, trackRecord, verdictIndex } from '../../../projections/index.ts'
import {
  type Board,
  createBoard,
  recordCoins,
  recordMonthsReport,
  regimeShiftHistory,
  speechRows,
  trackRecordReport,
  verifyVerdict,
} from '../../analyst/index.ts'
import type { ProjectionReader, Projector } from '../../log/projector/projector.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Deps } from '../deps.ts'
import type { ServerOptions } from '../server.ts'
import { newestVerdicts } from './newest-verdicts.ts'

/** Refuses what a process without the projector role is asked for. */
export function keepsNoReadModels(): never {
  throw new ServiceError('store_unavailable', {
    message: 'This process does not keep read models; ask one that has the projector role.',
    isForCallers: true,
  })
}

/** A read model that says up to where in the log it reaches. */
const placed = <Row extends JsonObject>(reader: ProjectionReader<Row>) => ({
  get: (key: string) => reader.get(key),
  range: (options: Parameters<typeof reader.range>[0]) => reader.range(options),
  position: () => reader.health().position,
})

/** Answers of the HTTP routes from the read models of this process. */
export function readModelAnswers({
  settings,
  platform: { store },
  projector,
  marketNow,
  speech,
}: Deps): Pick<
  ServerOptions,
  'trackRecord' | 'recordCoins' | 'recordMonths' | 'speech' | 'regimeShifts' | 'verify'
> {
  const there = (): Projector => projector ?? keepsNoReadModels()
  return {
    trackRecord: (query) => trackRecordReport(placed(there().reader(trackRecord)), query),
    recordMonths: (query) => recordMonthsReport(there().reader(recordMonths), query),
    recordCoins: (query) => recordCoins(there().reader(trackRecord), query),
    speech: () =>
      speechRows(speech.model, speech.rows(), (timeframe) => speech.withdrawn(timeframe, marketNow())),
    regimeShifts: (query) =>
      regimeShiftHistory(placed(there().reader(regimeShifts)), { ...query, now: marketNow() }),
    verify: async (verdictId, signal) =>
      verifyVerdict(
        { store, index: placed(there().reader(verdictIndex)), market: settings.MARKET, sleep, signal },
        verdictId,
      ),
  }
}

/** The board over the read models of this process. */
export function openBoard(
  projector: Projector | undefined,
  context: { readonly market: MarketKind; readonly marketNow: () => number; readonly staleAfterMs: number },
): Board {
  if (projector === undefined) return { read: keepsNoReadModels }
  const past = projector.reader(decided)
  return createBoard({
    ...context,
    newest: () => newestVerdicts(projector),
    decided: (series) => past.get(series),
    now: () => performance.now(),
  })
}

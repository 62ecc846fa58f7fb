import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { decided, recordMonths, regimeShifts, trackRecord, verdictIndex } from '../../../projections/index.ts'
import {
  createBoard,
  recordCoins,
  recordMonthsReport,
  regimeShiftHistory,
  seriesHistory,
  speechRows,
  trackRecordReport,
  verifyVerdict,
} from '../../analyst/index.ts'
import type { ProjectionReader, Projector } from '../../log/projector/projector.ts'
import { staleAfterMs } from '../../market/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { ServerOptions } from '../server.ts'
import type { SharedParts } from '../shared-parts.ts'
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
export function readModelAnswers(parts: SharedParts) {
  const { settings, platform, projector, marketNow, speech } = parts
  const { store } = platform
  const market = settings.MARKET
  const there = (): Projector => projector ?? keepsNoReadModels()
  return {
    board:
      projector === undefined
        ? { read: keepsNoReadModels }
        : createBoard({
            market,
            marketNow,
            staleAfterMs: staleAfterMs(settings),
            newest: () => newestVerdicts(projector),
            decided: (series) => projector.reader(decided).get(series),
            now: () => performance.now(),
          }),
    seriesHistory: (query, signal) => seriesHistory(store, query, { market, now: marketNow(), signal }),
    trackRecord: (query) => trackRecordReport(placed(there().reader(trackRecord)), query),
    recordMonths: (query) => recordMonthsReport(there().reader(recordMonths), query),
    recordCoins: (query) => recordCoins(there().reader(trackRecord), query),
    speech: () =>
      speechRows(speech.model, speech.rows(), (timeframe) => speech.withdrawn(timeframe, marketNow())),
    regimeShifts: (query) =>
      regimeShiftHistory(placed(there().reader(regimeShifts)), { ...query, now: marketNow() }),
    verify: async (verdictId, signal) =>
      verifyVerdict({ store, index: placed(there().reader(verdictIndex)), market, sleep, signal }, verdictId),
  } satisfies Partial<ServerOptions>
}

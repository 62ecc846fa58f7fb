export { type Board, createBoard } from './board.ts'
export { type FollowItem, type FollowOptions, followVerdicts } from './follow-verdicts.ts'
export {
  acceptedFormat,
  FORMATS,
  formatOfFile,
  VERDICT_FORMATS,
  type VerdictFormat,
} from './formats/verdict-formats.ts'
export { recordCoins } from './record-coins.ts'
export { recordMonthsReport } from './record-months.ts'
export {
  type RegimeShiftPage,
  type RegimeShiftQuery,
  regimeShiftHistory,
} from './regime-shift-history.ts'
export { requireKnownNames } from './replay-filter.ts'
export {
  instantSchema,
  type ReplayFilterQuery,
  replayFilterOf,
  replayFilterParameters,
  replayOptionsOf,
  replayParameters,
  replayQueryFault,
} from './replay-query.ts'
export { type ReplaySource, replaysOnThisThread } from './replay-source.ts'
export { replayVerdicts } from './replay-verdicts.ts'
export { ReplayWorker } from './replay-worker.ts'
export { DaySealer } from './sealing/day-sealer.ts'
export { type SeriesHistoryQuery, seriesHistory } from './series-history.ts'
export {
  speechRows,
  type TrackRecordPage,
  type TrackRecordQuery,
  trackRecordReport,
  trackRecordRow,
} from './track-record-report.ts'
export { eventHash, verifyVerdict } from './verify-verdict.ts'

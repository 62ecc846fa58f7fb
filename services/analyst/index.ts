export { type FollowItem, type FollowOptions, followVerdicts } from './follow-verdicts.ts'
export {
  acceptedFormat,
  FORMATS,
  type FormatDefinition,
  formatOfFile,
  VERDICT_FORMATS,
  type VerdictFormat,
} from './formats/verdict-formats.ts'
export { AT_START, formatCursor, parseCursor, type ReplayCursor } from './replay-cursor.ts'
export type { ReplayFilter } from './replay-filter.ts'
export {
  instantSchema,
  type ReplayFilterQuery,
  type ReplayQuery,
  replayFilterOf,
  replayFilterParameters,
  replayOptionsOf,
  replayParameters,
  replayQueryFault,
} from './replay-query.ts'
export { type Replay, type ReplayRequest, type ReplaySource, replaysInTurns } from './replay-source.ts'
export { type ReplayOptions, replayVerdicts } from './replay-verdicts.ts'
export { openReplayWorker, type ReplayWorker } from './replay-worker.ts'
export {
  type TrackRecordPage,
  type TrackRecordQuery,
  type TrackRecordSource,
  trackRecordReport,
} from './track-record-report.ts'
export { eventHash, type VerdictIndex, type VerifyOptions, verifyVerdict } from './verify-verdict.ts'

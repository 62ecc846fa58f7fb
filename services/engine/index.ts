export { barrierFraction } from './barrier.ts'
export { type Board, type BoardEntry, createBoard } from './board.ts'
export { nearestName } from './desk/coin-names.ts'
export { createDesk, type Desk, type DeskOptions, type LocalDesk } from './desk/desk.ts'
export type { Listing, Monitored } from './desk/market-index.ts'
export { createRemoteDesk, serveDesk } from './desk/remote-desk.ts'
export type { Follow } from './desk/series-keeper.ts'
export {
  createUniverseKeeper,
  type UniverseKeeper,
  type UniverseKeeperOptions,
} from './desk/universe-keeper.ts'
export {
  type BarFault,
  CONFIDENCE_CAP,
  createEngine,
  type Engine,
  type EngineReading,
  type MarketMetrics,
  type VerdictDraft,
} from './engine.ts'
export { createFundingBook, FUNDING_HISTORY_DAYS, type FundingBook } from './funding/funding-book.ts'
export { scanFundingArb } from './funding/scan-funding-arb.ts'
export { loadModel, type VerdictModel } from './model.ts'
export { createRace, type Race, type RaceStart } from './race.ts'
export { createFollower, type Follower } from './recording/keep-following.ts'
export { labelUnfollowed } from './recording/label-unfollowed.ts'
export { createOutcomeRecorder, type OutcomeRecorder } from './recording/outcome-recorder.ts'
export { createRecorder, type Recorder } from './recording/recorder.ts'
export { type EngineRun, NOTHING_RUN, runEngine, together } from './recording/run-engine.ts'
export { evaluateVerdicts } from './scoring/evaluate-verdicts.ts'
export type {
  Evaluation,
  ScoredCall,
  Scores,
  SeriesEvaluation,
  TimeframeEvaluation,
} from './scoring/evaluation.ts'
export { formatEvaluation } from './scoring/format-evaluation.ts'
export { spokenTimeframes, spokenTimeframesModule } from './spoken-timeframes.ts'

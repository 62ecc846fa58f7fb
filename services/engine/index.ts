export { type Board, type BoardEntry, createBoard } from './board.ts'
export { nearestName } from './desk/coin-names.ts'
export { createDesk, type Desk, type LocalDesk } from './desk/desk.ts'
export type { NewestVerdicts } from './desk/newest-answers.ts'
export { createRemoteDesk, type RemoteDesk, serveDesk } from './desk/remote-desk.ts'
export { createUniverseKeeper } from './desk/universe-keeper.ts'
export {
  CONFIDENCE_CAP,
  createEngine,
  type Engine,
  type VerdictDraft,
} from './engine.ts'
export { createFundingBook, FUNDING_HISTORY_DAYS } from './funding/funding-book.ts'
export { scanFundingArb } from './funding/scan-funding-arb.ts'
export { loadModel, modelFile, type VerdictModel } from './model.ts'
export { createRace, type Race } from './race.ts'
export { createAnnouncer } from './recording/announcer.ts'
export { createFollower } from './recording/keep-following.ts'
export { labelUnfollowed } from './recording/label-unfollowed.ts'
export { createOutcomeRecorder } from './recording/outcome-recorder.ts'
export { createRecorder } from './recording/recorder.ts'
export { type EngineRun, NOTHING_RUN, runEngine, together } from './recording/run-engine.ts'
export type { ScoredCall } from './scoring/call-columns.ts'
export { evaluateVerdicts } from './scoring/evaluate-verdicts.ts'
export { formatEvaluation } from './scoring/format-evaluation.ts'
export { type KeepSpeechOptions, keepSpeech } from './speech/keep-speech.ts'
export { withdrawalReason } from './speech/silenced.ts'
export { createStandingOrders, type StandingOrders } from './speech/standing-orders.ts'
export { spokenTimeframesModule } from './spoken-timeframes.ts'

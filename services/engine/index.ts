export { type Board, type BoardEntry, createBoard } from './board.ts'
export {
  CONFIDENCE_CAP,
  type Engine,
  SeriesEngine,
  type VerdictDraft,
} from './engine.ts'
export { createEnsemble } from './ensemble.ts'
export { readRanges } from './forecast/range-model.ts'
export { newestFunding } from './funding/compare-venues.ts'
export { createFundingRates, FUNDING_HISTORY_DAYS } from './funding/funding-rates.ts'
export { LatestPrices } from './funding/latest-prices.ts'
export { scanFundingArb } from './funding/scan-funding-arb.ts'
export { KEPT_MODELS, keptModelFile, loadModel, modelFile, type VerdictModel } from './model.ts'
export { createRace, type Race, type RaceResult } from './race.ts'
export { createAnnouncer } from './recording/announcer.ts'
export { createChallengerRecorder } from './recording/challenger-recorder.ts'
export { createFollower } from './recording/keep-following.ts'
export { labelUnfollowed } from './recording/label-unfollowed.ts'
export { createOutcomeRecorder } from './recording/outcome-recorder.ts'
export { createRecorder } from './recording/recorder.ts'
export { type EngineRun, NOTHING_RUN, runEngine, together } from './recording/run-engine.ts'
export { blockOf, type ScoredCall } from './scoring/call-columns.ts'
export { evaluateCloses, evaluateVerdicts } from './scoring/evaluate-verdicts.ts'
export { formatCloses, formatEvaluation, interval } from './scoring/format-evaluation.ts'
export { blockMean, type Measure } from './scoring/intervals.ts'
export { chooseModel } from './speech/choose-model.ts'
export { keepSpeech } from './speech/keep-speech.ts'
export { wasSilenced, withdrawalReason } from './speech/silenced.ts'
export { createStandingOrders, type StandingOrders } from './speech/standing-orders.ts'
export type { NewestVerdicts } from './tool-handler/newest-answers.ts'
export {
  createRemoteToolHandler,
  type RemoteToolHandler,
  serveTools,
} from './tool-handler/remote-tool-handler.ts'
export { createToolHandler, type LocalToolHandler, type ToolHandler } from './tool-handler/tool-handler.ts'
export { createUniverseManager, recordedUniverse } from './tool-handler/universe-manager.ts'
export { createWhatIf, type OtherSaying } from './what-if.ts'

export { type Board, type BoardEntry, createBoard } from './board.ts'
export { type Engine, type OpenSeries, SeriesEngine, type VerdictDraft } from './engine.ts'
export { newestFunding } from './funding/compare-venues.ts'
export { createFundingRates, FUNDING_HISTORY_DAYS } from './funding/funding-rates.ts'
export { scanFundingArb } from './funding/scan-funding-arb.ts'
export { loadModel, modelFile, type VerdictModel } from './model/verdict-model.ts'
export { createRace, type Race, type RaceResult } from './race.ts'
export { createAnnouncer } from './recording/announcer.ts'
export { createFollower } from './recording/keep-following.ts'
export { labelUnfollowed } from './recording/label-unfollowed.ts'
export { createOutcomeRecorder } from './recording/outcome-recorder.ts'
export { createRecorder } from './recording/recorder.ts'
export { type EngineRun, NOTHING_RUN, runEngine, together } from './recording/run-engine.ts'
export { keepSpeech } from './speech/keep-speech.ts'
export { withdrawalReason } from './speech/silenced.ts'
export { createStandingOrders, type StandingOrders } from './speech/standing-orders.ts'
export type { NewestVerdicts } from './tool-handler/newest-answers.ts'
export {
  createRemoteToolHandler,
  type RemoteToolHandler,
  serveTools,
} from './tool-handler/remote-tool-handler.ts'
export { createToolHandler, type LocalToolHandler, type ToolHandler } from './tool-handler/tool-handler.ts'
export { createUniverseManager, recordedUniverse } from './tool-handler/universe-manager.ts'

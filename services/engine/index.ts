export { barrierFraction } from './barrier.ts'
export {
  createEngine,
  type Engine,
  type EngineReading,
  type MarketMetrics,
  type VerdictDraft,
} from './engine.ts'
export { loadModel, type VerdictModel } from './model.ts'
export { createRecorder, type Recorder } from './recording/recorder.ts'
export { type EngineRun, runEngine } from './recording/run-engine.ts'

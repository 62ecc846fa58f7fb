import { loadModel, modelFile } from '../../engine/index.ts'
import type { OpenedSpeech } from './speech.ts'

/** The released model, of which nothing was ever withdrawn. */
export const FREE_SPEECH: OpenedSpeech = {
  model: loadModel(),
  file: modelFile(),
  caughtUp: async () => undefined,
  rows: () => [],
  withdrawn: () => undefined,
  note: () => '',
}

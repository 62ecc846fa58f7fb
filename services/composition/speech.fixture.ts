import { loadModel } from '../engine/index.ts'
import type { OpenedSpeech } from './speech.ts'

/** The released model, of which nothing was ever withdrawn. */
export const FREE_SPEECH: OpenedSpeech = {
  model: loadModel(),
  orders: {
    withdrawal: () => undefined,
    hasChanges: () => false,
    load: async () => undefined,
    follow: async () => undefined,
  },
  rows: () => [],
  withdrawn: () => undefined,
  note: () => '',
}

import type { Engine, VerdictDraft } from './engine.ts'

/** Engines with a model each that see the same bars: one speaks, the others say beside it what they would have said. */
export interface Ensemble extends Engine {
  /** Verdicts of the silent models at the newest bar of a series. */
  others(slot: number): readonly VerdictDraft[]
}

/**
 * Several engines as one. Which of them speaks is asked for each bar, so that another takes over from one bar to the
 * next with the state that it would have had all along. Each costs what the first one costs.
 *
 * @param engines at least one; all without any series
 * @param speakerAt version of the model that speaks of bars that close at an instant; the first one where it is none of
 *   these
 * @example const ensemble = createEnsemble(models.map((model) => createEngine({ model })), () => 'barrier-3')
 */
export function createEnsemble(
  engines: readonly [Engine, ...Engine[]],
  speakerAt: (barClose: number) => string,
): Ensemble {
  const [first] = engines
  const readings = (slot: number) => {
    const read = engines.map((engine) => engine.read(slot))
    const reading = read[0]
    const version = reading?.status === 'verdict' ? speakerAt(reading.verdict.barClose) : ''
    const found = engines.findIndex((engine) => engine.modelVersion === version)
    return { read, speaker: Math.max(0, found) }
  }
  return {
    get modelVersion() {
      return first.modelVersion
    },
    get seriesCount() {
      return first.seriesCount
    },
    open(series) {
      // Engines that are used alike give the same slots.
      return engines.map((engine) => engine.open(series))[0] ?? 0
    },
    close(slot) {
      for (const engine of engines) engine.close(slot)
    },
    push(slot, bar) {
      // What is wrong with a bar is wrong for all; the first one refuses it before any has changed.
      for (const engine of engines) engine.push(slot, bar)
    },
    pushFunding(market, funding, slots) {
      for (const engine of engines) engine.pushFunding(market, funding, slots)
    },
    read(slot) {
      const { read, speaker } = readings(slot)
      return read[speaker] ?? first.read(slot)
    },
    others(slot) {
      const { read, speaker } = readings(slot)
      return read.flatMap((reading, index) =>
        index !== speaker && reading.status === 'verdict' ? [reading.verdict] : [],
      )
    },
  }
}

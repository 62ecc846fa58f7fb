import { type Outcome, RACE_OUTCOMES } from '../../../contracts/outcome.ts'
import type { Verdict } from '../../../contracts/verdict.ts'

/** Fields that an outcome repeats of its verdict. */
export const COPIED = [
  'barClose',
  'validUntil',
  'modelVersion',
  'call',
  'probability',
  'closesHigher',
  'barrier',
  'forecast',
  'recordedLate',
] as const

/** The fields of a verdict that its outcome is compared with. */
export type Judged = Pick<Verdict, 'verdictId' | (typeof COPIED)[number]>

/** Fields of an outcome that a race is run with and ends with, and that are numbers or null. */
const NUMBERS = [
  'barClose',
  'validUntil',
  'barrier',
  'entryPrice',
  'exitPrice',
  'decidedAt',
  'highest',
  'lowest',
  'closePrice',
] as const
/** Beside them: the index of its entry, its race, and whether it has a forecast. */
const WIDTH = NUMBERS.length + 3

/** An outcome to recompute. */
export interface Labelled extends Pick<Outcome, (typeof NUMBERS)[number] | 'race'> {
  readonly index: number
  readonly hasForecast: boolean
}

/** A copy, so that the rest can be freed. Fields are named: objects that grow by loops take three times the memory. */
export const judged = (verdict: Verdict): Judged => {
  const { verdictId, barClose, validUntil, modelVersion, call, probability, closesHigher } = verdict
  const { barrier, forecast, recordedLate } = verdict
  const foretold = closesHigher === undefined ? { probability } : { probability, closesHigher }
  return { verdictId, barClose, validUntil, modelVersion, call, ...foretold, barrier, forecast, recordedLate }
}

/** Outcomes of a series. An audit holds those of the whole log, so they are numbers: objects take three times the memory. */
export class Outcomes {
  readonly #numbers: number[] = []

  /** @param index of the entry of the outcome */
  add(index: number, outcome: Outcome): void {
    const { race, forecast } = outcome
    for (const name of NUMBERS) this.#numbers.push(outcome[name] ?? Number.NaN)
    this.#numbers.push(index, RACE_OUTCOMES.indexOf(race), forecast === null ? 0 : 1)
  }

  get length(): number {
    return this.#numbers.length / WIDTH
  }

  at(place: number): Labelled {
    const numbers = this.#numbers.slice(place * WIDTH, (place + 1) * WIDTH)
    const [index = 0, race = 0, hasForecast] = numbers.slice(NUMBERS.length)
    // No number of JSON is NaN.
    const fields = NUMBERS.map((name, n) => [name, Number.isNaN(numbers[n]) ? null : numbers[n]])
    const found = Object.fromEntries(fields) as Pick<Labelled, (typeof NUMBERS)[number]>
    return { ...found, index, race: RACE_OUTCOMES[race] ?? 'incomplete', hasForecast: hasForecast === 1 }
  }
}

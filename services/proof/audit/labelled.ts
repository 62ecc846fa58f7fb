import { type Outcome, RACE_OUTCOMES } from '../../../contracts/outcome.ts'
import { barsMissed, type Verdict } from '../../../contracts/verdict.ts'

/** Fields that an outcome repeats of its verdict. */
export const COPIED = [
  'barClose',
  'validUntil',
  'modelVersion',
  'call',
  'probability',
  'barrier',
  'forecast',
  'recordedLate',
  'barsMissed',
] as const

/** The fields of a verdict that its outcome is compared with. */
export type Judged = Pick<Outcome, 'verdictId' | (typeof COPIED)[number]>

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
/** Beside them, as one: the index of its entry, its race, and whether it has a forecast. */
const WIDTH = NUMBERS.length + 1
const RACES = RACE_OUTCOMES.length + 1
const OUTCOMES_A_PIECE = 32

/** An outcome to recompute. */
export interface Labelled extends Pick<Outcome, (typeof NUMBERS)[number] | 'race'> {
  readonly index: number
  readonly hasForecast: boolean
}

/** A copy, so that the rest can be freed. Fields are named: objects that grow by loops take three times the memory. */
export const judged = (verdict: Verdict): Judged => {
  const { verdictId, barClose, validUntil, modelVersion, call, probability } = verdict
  const { barrier, forecast, recordedLate } = verdict
  const about = { verdictId, barClose, validUntil, modelVersion, call, probability }
  return { ...about, barrier, forecast, recordedLate, barsMissed: barsMissed(verdict) }
}

/** Outcomes of a series. An audit holds those of the whole log, so they are numbers outside of the heap: objects take three times that. */
export class Outcomes {
  readonly #pieces: Float64Array[] = []
  length = 0

  /** @param index of the entry of the outcome. @returns whether it is taken: numbers are numbers, or null */
  add(index: number, outcome: Outcome): boolean {
    const { race, forecast } = outcome
    if (NUMBERS.some((name) => typeof (outcome[name] ?? 0) !== 'number')) return false
    const at = (this.length % OUTCOMES_A_PIECE) * WIDTH
    if (at === 0) this.#pieces.push(new Float64Array(OUTCOMES_A_PIECE * WIDTH))
    const piece = this.#pieces.at(-1) ?? NO_PIECE
    for (const [field, name] of FIELDS) piece[at + field] = outcome[name] ?? Number.NaN
    piece[at + NUMBERS.length] =
      2 * (index * RACES + 1 + RACE_OUTCOMES.indexOf(race)) + Number(forecast !== null)
    this.length += 1
    return true
  }

  at(place: number): Labelled {
    const piece = this.#pieces[Math.floor(place / OUTCOMES_A_PIECE)] ?? NO_PIECE
    const at = (place % OUTCOMES_A_PIECE) * WIDTH
    const others = piece[at + NUMBERS.length] ?? 0
    const coded = Math.floor(others / 2)
    const found = {
      index: Math.floor(coded / RACES),
      race: RACE_OUTCOMES[(coded % RACES) - 1] ?? 'incomplete',
      hasForecast: others % 2 === 1,
    } as { -readonly [Field in keyof Labelled]: Labelled[Field] }
    // No number of JSON is NaN.
    for (const [field, name] of FIELDS) {
      const number = piece[at + field] as number
      found[name] = Number.isNaN(number) ? (null as never) : number
    }
    return found
  }
}

const FIELDS = [...NUMBERS.entries()]
const NO_PIECE = new Float64Array(0)

import type { Outcome } from '../../../contracts/outcome.ts'
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

/** The fields that a race is run with, and those that it ends with. */
type Raced =
  | 'barClose'
  | 'validUntil'
  | 'barrier'
  | 'race'
  | 'entryPrice'
  | 'exitPrice'
  | 'decidedAt'
  | 'highest'
  | 'lowest'
  | 'closePrice'

/** An outcome to recompute. An audit holds one of these for each outcome of the log, so it has no other field. */
export interface Labelled extends Pick<Outcome, Raced> {
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

/** @param index of the entry of the outcome */
export const labelled = (index: number, outcome: Outcome): Labelled => {
  const { barClose, validUntil, barrier, race, entryPrice, exitPrice, decidedAt, forecast } = outcome
  const { highest, lowest, closePrice } = outcome
  const hasForecast = forecast !== null
  const raced = { barClose, validUntil, barrier, race, entryPrice, exitPrice, decidedAt }
  return { index, hasForecast, ...raced, highest, lowest, closePrice }
}

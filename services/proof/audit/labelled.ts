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
const RACED = [
  'barClose',
  'validUntil',
  'barrier',
  'race',
  'entryPrice',
  'exitPrice',
  'decidedAt',
  'highest',
  'lowest',
  'closePrice',
] as const

/** An outcome to recompute. An audit holds one of these for each outcome of the log, so it has no other field. */
export interface Labelled extends Pick<Outcome, (typeof RACED)[number]> {
  readonly index: number
  readonly hasForecast: boolean
}

export const judged = (verdict: Verdict): Judged => picked(verdict, ['verdictId', ...COPIED])

/** @param index of the entry of the outcome */
export const labelled = (index: number, outcome: Outcome): Labelled => ({
  index,
  hasForecast: outcome.forecast !== null,
  ...picked(outcome, RACED),
})

/** Copies some fields of an object, so that the others can be freed. */
const picked = <Whole, Key extends keyof Whole>(whole: Whole, keys: readonly Key[]) =>
  Object.fromEntries(keys.map((key) => [key, whole[key]])) as Pick<Whole, Key>

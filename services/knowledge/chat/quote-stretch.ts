import type { Section } from '../search/find-sections.ts'
import type { SearchIndex, Understood, UnderstoodWord } from '../search/search-index.ts'
import { definedBy } from './definitions.ts'
import { groupAt, NONE, sizeOf, type Told, valueOf } from './told-units.ts'

export interface QuoteOptions {
  /** Characters there is room for; a single sentence may be longer. */
  readonly room: number
  /** What a definition is asked of, as places of words; undefined where something else is asked. */
  readonly subject?: readonly number[] | undefined
  /** Words of the query that were said before, and need not be said again. */
  readonly known?: ReadonlySet<number>
}

/** The beginning of a section is quoted unless another place says this much more. */
const LEAD_ENOUGH = 0.6
/** From this share of the query on the heading says what was asked. */
const HEADING_ENOUGH = 0.6
/** Whether a section says what the subject is. */
export const definesIn = (
  { passages }: SearchIndex,
  query: Understood,
  { passage: { id } }: Section,
  subject: readonly number[],
): boolean =>
  passages.some(
    (one) =>
      one.id === id && one.sentences.some((sentence) => definedBy(sentence, subject, query).length > 0),
  )

/** Where the quote begins, and how far it has to go. */
export interface Stretch {
  readonly start: number
  readonly target: number
  /** Whether it is a definition, which is enough without what stands beside it. */
  readonly isAlone: boolean
}

/** Chooses the place of a section that answers best. */
export function stretchOf(
  units: readonly Told[],
  query: Understood,
  section: Section,
  options: QuoteOptions,
): Stretch {
  const defining = definingUnit(units, query, section, options.subject)
  if (defining !== undefined) return { start: defining, target: defining, isAlone: true }
  const quotable = units.flatMap((unit, place) => (unit.kind === 'code' ? [] : [place]))
  const [lead = 0] = quotable
  const valueAt = (place: number): number => units[place]?.value ?? 0
  const best = quotable.reduce((a, b) => (valueAt(b) > valueAt(a) ? b : a), lead)
  const isRow = units[lead]?.kind === 'row'
  const isLeadDue = isHeadingAsked(query, section) || valueAt(lead) >= LEAD_ENOUGH * valueAt(best)
  // The first row of a table says nothing about the others.
  if (isLeadDue && !isRow) return { start: lead, target: lead, isAlone: false }
  // With what stands before it, it reads better, if there is room for both.
  const before = units.slice(lead, best + 1)
  const isNear =
    units[lead]?.kind === 'paragraph' &&
    before.every(({ kind }) => kind !== 'row') &&
    sizeOf(before) <= options.room
  return { start: isNear ? lead : best, target: best, isAlone: false }
}

/** The unit that defines most of the subject; words of the heading are what the whole section is about. */
function definingUnit(
  units: readonly Told[],
  query: Understood,
  section: Section,
  subject: readonly number[] | undefined,
): number | undefined {
  if (subject === undefined) return undefined
  let [best, most]: [number | undefined, number] = [undefined, 0]
  for (const [place, { kind, sentences }] of units.entries()) {
    if (kind === 'code') continue
    const named = new Set(sentences.flatMap((one) => definedBy(one, subject, query)))
    const value = valueOf(query, section, named, NONE)
    if (value > most) [best, most] = [place, value]
  }
  return best
}

/** Whether the heading says most of the query: then the whole section is about it, from its beginning on. */
function isHeadingAsked({ words }: Understood, { row }: Section): boolean {
  const weightOf = (some: readonly UnderstoodWord[]): number =>
    some.reduce((sum, { weight }) => sum + weight, 0)
  const said = words.filter(({ headings }) => headings.has(row))
  return weightOf(said) >= HEADING_ENOUGH * weightOf(words)
}

/** Rows or items beside a definition that define something that was asked for as well. */
export function definitionsBeside(
  units: readonly Told[],
  start: number,
  query: Understood,
  { subject = [] }: QuoteOptions,
): number[] {
  const isDefinition = (one: string): boolean => definedBy(one, subject, query).length > 0
  return groupAt(units, start).filter((place) => units[place]?.sentences.some(isDefinition))
}

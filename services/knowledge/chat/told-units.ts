import type { Passage, Unit } from '../corpus/split-page.ts'
import type { Section } from '../search/find-sections.ts'
import type { SearchIndex, Understood, UnderstoodWord } from '../search/search-index.ts'

/** A unit with the words of the query that each of its sentences says. */
export interface Told extends Unit {
  readonly said: readonly ReadonlySet<number>[]
  readonly value: number
}

/** Words that the heading says are said by the whole section, and tell little about where in it to look. */
const IN_HEADING = 0.3
/** Beginnings of sentences whose subject stands in the sentence before. */
const LEANING =
  /^(?:It|Its|This|That|They|Their|Then|These|Those|There|So|Such|And|But|Or|Both|Else|Elsewhere|Otherwise|Neither|Either|Others?|Here|Compare|Only then|The (?:same|first|second|last|others?|rest|latter)|(?:Past|Below|With|Without|Until|After|Beyond|From) (?:it|that|then|which))\b/

export const leans = (text: string | undefined): boolean => text !== undefined && LEANING.test(text)
export const textOf = ({ sentences }: Unit): string => sentences.join(' ')
export const sizeOf = (units: readonly Unit[]): number =>
  units.reduce((sum, unit) => sum + textOf(unit).length + 3, 0)
export const introduces = (unit: Unit | undefined): boolean =>
  unit !== undefined && textOf(unit).endsWith(':')

/** Every part of the section that a passage is of, in the order of the page. */
export function readSection(
  index: SearchIndex,
  query: Understood,
  section: Section,
  known: ReadonlySet<number>,
): Told[] {
  const { passages } = index
  const { id } = section.passage
  let first = section.row
  while (passages[first - 1]?.id === id) first -= 1
  const units: Told[] = []
  for (let row = first; passages[row]?.id === id; row++) {
    const said = index.said(row, query)
    for (const unit of (passages[row] as Passage).units) {
      const own =
        unit.kind === 'code' ? [] : unit.sentences.map((_, place) => said[unit.from + place] ?? NONE)
      units.push({ ...unit, said: own, value: valueOf(query, section, together(own), known) })
    }
  }
  return units
}

export const NONE: ReadonlySet<number> = new Set()
const together = (sets: readonly ReadonlySet<number>[]): Set<number> =>
  new Set(sets.flatMap((set) => [...set]))

/** How much of the query is said, without what is known already. */
export function valueOf(
  query: Understood,
  { row }: Section,
  said: Set<number>,
  known: ReadonlySet<number>,
): number {
  let value = 0
  for (const place of said) {
    const word = query.words[place]
    if (word !== undefined && !known.has(place))
      value += word.weight * (word.headings.has(row) ? IN_HEADING : 1)
  }
  return value
}

/** How much of the query one of the units and the heading say together, by the weight of its words: 0 to 1. */
export function coverageOfUnits({ words }: Understood, { row }: Section, units: readonly Told[]): number {
  const weightOf = (isSaid: (word: UnderstoodWord, place: number) => boolean): number =>
    words.reduce((sum, word, place) => sum + (isSaid(word, place) ? word.weight * word.certainty : 0), 0)
  const all = words.reduce((sum, { weight }) => sum + weight, 0)
  const shares = units.map(({ said }) => {
    const own = together(said)
    return weightOf(({ headings }, place) => own.has(place) || headings.has(row)) / all
  })
  return Math.max(0, ...shares)
}

/** The rows of a table, or the items of a list, that one of them is of. */
export function groupAt(units: readonly Told[], place: number): number[] {
  const of = units[place]
  return units.flatMap((unit, other) => (unit.block === of?.block && unit.kind === of.kind ? [other] : []))
}

import type { Passage, Unit } from '../corpus/split-page.ts'
import type { Section } from '../search/find-sections.ts'
import type { SearchIndex, Understood, UnderstoodWord } from '../search/search-index.ts'
import { defines } from './definitions.ts'

/** What is taken of a section, and which words of the query it says. */
export interface Quote {
  readonly text: string
  readonly said: ReadonlySet<number>
  /** How much of the query, by the weight of its words, one of its units and the heading say together: 0 to 1. */
  readonly coverage: number
}

export interface QuoteOptions {
  /** Characters there is room for; a single sentence may be longer. */
  readonly room: number
  /** What a definition is asked of; undefined where something else is asked. */
  readonly subject?: readonly string[] | undefined
  /** Words of the query that were said before, and need not be said again. */
  readonly known?: ReadonlySet<number>
}

/** A unit with the words of the query that each of its sentences says. */
interface Told extends Unit {
  readonly said: readonly ReadonlySet<number>[]
  readonly value: number
}

/** Words that the heading says are said by the whole section, and tell little about where in it to look. */
const IN_HEADING = 0.3
/** The beginning of a section is quoted unless another place says this much more. */
const LEAD_ENOUGH = 0.6
/** From this share of the query on the heading says what was asked. */
const HEADING_ENOUGH = 0.6
/** Rows and items beside the best that say nearly as much. */
const NEARLY = 0.5
/** Behind so many characters only what says something of the query is added. */
const ENOUGH = 260
/** A table or list of no more is given whole; and an example, which nobody reads in an answer when it is long. */
const WHOLE = 420
const WHOLE_CODE = 240

/** Beginnings of sentences whose subject stands in the sentence before. */
const LEANING =
  /^(?:It|Its|This|That|They|Their|Then|These|Those|There|So|Such|And|But|Or|Both|Else|Elsewhere|Otherwise|Neither|Either|Others?|Here|Compare|Only then|The (?:same|first|second|last|others?|rest|latter)|(?:Past|Below|With|Without|Until|After|Beyond|From) (?:it|that|then|which))\b/

const leans = (text: string | undefined): boolean => text !== undefined && LEANING.test(text)
const textOf = ({ sentences }: Unit): string => sentences.join(' ')
const sizeOf = (units: readonly Unit[]): number =>
  units.reduce((sum, unit) => sum + textOf(unit).length + 3, 0)
const introduces = (unit: Unit | undefined): boolean => unit !== undefined && textOf(unit).endsWith(':')

/** Every part of the section that a passage is of, in the order of the page. */
function readSection(index: SearchIndex, query: Understood, section: Section, options: QuoteOptions): Told[] {
  const { passages } = index
  const { id } = section.passage
  let first = section.row
  while (passages[first - 1]?.id === id) first -= 1
  const units: Told[] = []
  for (let row = first; passages[row]?.id === id; row++) {
    const said = index.said(row, query)
    for (const unit of (passages[row] as Passage).units) {
      const own = unit.kind === 'code' ? [] : unit.sentences.map((_, place) => said[unit.from + place] ?? NONE)
      units.push({ ...unit, said: own, value: valueOf(query, section, together(own), options) })
    }
  }
  return units
}

const NONE: ReadonlySet<number> = new Set()
const together = (sets: readonly ReadonlySet<number>[]): Set<number> => new Set(sets.flatMap((set) => [...set]))

function valueOf(query: Understood, { row }: Section, said: Set<number>, { known = NONE }: QuoteOptions): number {
  let value = 0
  for (const place of said) {
    const word = query.words[place]
    if (word !== undefined && !known.has(place)) value += word.weight * (word.headings.has(row) ? IN_HEADING : 1)
  }
  return value
}

function coverageOfUnits({ words }: Understood, { row }: Section, units: readonly Told[]): number {
  const weightOf = (isSaid: (word: UnderstoodWord, place: number) => boolean): number =>
    words.reduce((sum, word, place) => sum + (isSaid(word, place) ? word.weight : 0), 0)
  const all = weightOf(() => true)
  const shares = units.map(({ said }) => {
    const own = together(said)
    return weightOf(({ headings }, place) => own.has(place) || headings.has(row)) / all
  })
  return Math.max(0, ...shares)
}

/** Whether a section says what the subject is. */
export const definesIn = ({ passages }: SearchIndex, { passage }: Section, subject: readonly string[]): boolean =>
  passages.some(({ id, sentences }) => id === passage.id && sentences.some((one) => defines(one, subject)))

/**
 * Takes from a section what answers best: where it is defined what was asked for, else the beginning of the section,
 * else the place that says most of the query; always in the order of the page and with what a sentence leans on.
 */
export function quoteSection(
  index: SearchIndex,
  query: Understood,
  section: Section,
  options: QuoteOptions,
): Quote {
  const units = readSection(index, query, section, options)
  const taken = new Map<number, readonly number[]>()
  const start = startOf(units, options.subject, isHeadingAsked(query, section))
  const group = groupAt(units, start)
  if (group.length > 1 || units[start]?.kind !== 'paragraph') takeBlock(units, start, group, taken, options)
  else takeParagraphs(units, start, taken, options)
  const quoted = [...taken.keys()].flatMap((place) => units[place] ?? [])
  return { ...written(units, taken), coverage: coverageOfUnits(query, section, quoted) }
}

function startOf(units: readonly Told[], subject: readonly string[] | undefined, isAsked: boolean): number {
  const defining =
    subject === undefined
      ? -1
      : units.findIndex(({ kind, sentences }) => kind !== 'code' && sentences.some((one) => defines(one, subject)))
  if (defining !== -1) return defining
  const quotable = units.flatMap((unit, place) => (unit.kind === 'code' ? [] : [place]))
  const [lead = 0] = quotable
  if (isAsked) return lead
  const valueAt = (place: number): number => units[place]?.value ?? 0
  const best = quotable.reduce((a, b) => (valueAt(b) > valueAt(a) ? b : a), lead)
  return valueAt(lead) >= LEAD_ENOUGH * valueAt(best) ? lead : best
}

/** Whether the heading says most of the query: then the whole section is about it, from its beginning on. */
function isHeadingAsked({ words }: Understood, { row }: Section): boolean {
  const weightOf = (some: readonly UnderstoodWord[]): number => some.reduce((sum, { weight }) => sum + weight, 0)
  const said = words.filter(({ headings }) => headings.has(row))
  return weightOf(said) >= HEADING_ENOUGH * weightOf(words)
}

/** The rows of a table, or the items of a list, that one of them is of. */
function groupAt(units: readonly Told[], place: number): number[] {
  const of = units[place]
  return units.flatMap((unit, other) => (unit.block === of?.block && unit.kind === of.kind ? [other] : []))
}

type Taken = Map<number, readonly number[]>

/** Some of the sentences of a unit, by their places. */
const all = (unit: Told | undefined): number[] => [...(unit?.sentences.keys() ?? [])]

function takeBlock(units: readonly Told[], start: number, group: readonly number[], taken: Taken, { room }: QuoteOptions): void {
  const first = group[0] ?? start
  const intro = introduces(units[first - 1]) ? [first - 1] : []
  const chosen = rowsOf(units, start, group, room - sizeOf(intro.flatMap((place) => units[place] ?? [])))
  for (const place of [...intro, ...chosen]) taken.set(place, all(units[place]))
}

/** All where they are few; else those that say most, and where none says anything the first. */
function rowsOf(units: readonly Told[], start: number, group: readonly number[], room: number): number[] {
  const unitAt = (place: number): Told[] => (units[place] === undefined ? [] : [units[place]])
  if (sizeOf(group.flatMap(unitAt)) <= Math.min(WHOLE, room)) return [...group]
  const valueAt = (place: number): number => units[place]?.value ?? 0
  const best = Math.max(...group.map(valueAt))
  const fitting = group.filter((place) => place === start || valueAt(place) >= NEARLY * best)
  const order = fitting.toSorted((a, b) => Number(b === start) - Number(a === start) || valueAt(b) - valueAt(a) || a - b)
  const chosen: number[] = []
  let left = room
  for (const place of order) {
    left -= sizeOf(unitAt(place))
    if (left < 0 && chosen.length > 0) break
    chosen.push(place)
  }
  return chosen.toSorted((a, b) => a - b)
}

function takeParagraphs(units: readonly Told[], start: number, taken: Taken, options: QuoteOptions): void {
  let from = start
  while (from > 0 && leans(units[from]?.sentences[0]) && units[from - 1]?.kind === 'paragraph') from -= 1
  let left = options.room
  let isBroken = false
  for (let place = from; place < units.length; place++) {
    const unit = units[place]
    if (unit === undefined || unit.kind !== 'paragraph') {
      isBroken = true
      continue
    }
    const isDue = place <= start || options.room - left < ENOUGH || unit.value > 0
    if (!isDue || (isBroken && leans(unit.sentences[0])) || (place > start && textOf(unit).length > left)) break
    const some = sentencesThatFit(unit, place === from ? left : Math.max(left, 0), place <= start)
    if (some.length === 0) break
    taken.set(place, some)
    left -= some.reduce((sum, one) => sum + (unit.sentences[one]?.length ?? 0) + 1, 0)
    isBroken = some.length < unit.sentences.length
    if (introduces(unit) && !isBroken) {
      const behind = groupAt(units, place + 1)
      const block = blockBehind(units, behind, left)
      if (block.length === 0) dropLast(taken, place)
      for (const one of block) taken.set(one, all(units[one]))
      left -= sizeOf(block.flatMap((one) => units[one] ?? []))
      isBroken = block.length < behind.length
      place += behind.length
    }
  }
}

/** What a sentence with a colon introduces, as far as it is to be shown. */
function blockBehind(units: readonly Told[], behind: readonly number[], room: number): readonly number[] {
  const [first] = behind
  if (first === undefined) return []
  const block = behind.flatMap((place) => units[place] ?? [])
  if (units[first]?.kind === 'code') return sizeOf(block) <= WHOLE_CODE ? behind : []
  return sizeOf(block) <= room ? behind : block.some(({ value }) => value > 0) ? rowsOf(units, first, behind, room) : []
}

/** A sentence that announces what is not shown is left out, unless it is all there is. */
function dropLast(taken: Taken, place: number): void {
  const some = taken.get(place) ?? []
  if (some.length > 1) taken.set(place, some.slice(0, -1))
  else if (taken.size > 1) taken.delete(place)
}

/** The whole unit where it fits; else from its beginning, or from the sentence that says most and what it leans on. */
function sentencesThatFit(unit: Told, room: number, mayBegin: boolean): number[] {
  const { sentences, said } = unit
  if (textOf(unit).length <= room) return all(unit)
  let from = 0
  if (mayBegin) {
    const sizes = said.map(({ size }) => size)
    from = Math.max(0, sizes.indexOf(Math.max(...sizes)))
    const before = sentences.slice(0, from + 1).join(' ').length
    if (before <= room) from = 0
    while (from > 0 && leans(sentences[from])) from -= 1
  }
  const some: number[] = []
  let left = room
  for (let place = from; place < sentences.length; place++) {
    left -= (sentences[place]?.length ?? 0) + 1
    if (left < 0 && some.length > 0) break
    some.push(place)
  }
  return some
}

function written(units: readonly Told[], taken: Taken): Omit<Quote, 'coverage'> {
  const said = new Set<number>()
  let text = ''
  let before: Unit['kind'] | undefined
  for (const [place, sentences] of [...taken].toSorted(([a], [b]) => a - b)) {
    const unit = units[place]
    if (unit === undefined) continue
    for (const one of sentences) for (const word of unit.said[one] ?? []) said.add(word)
    const own = sentences.map((one) => unit.sentences[one] ?? '')
    const isLine = unit.kind === 'item' || unit.kind === 'row'
    const words = unit.kind === 'code' ? own.join('\n') : own.map(asSentence).join(' ')
    const gap = text === '' ? '' : unit.kind === 'paragraph' && before === 'paragraph' ? ' ' : '\n'
    text += `${gap}${isLine ? '- ' : ''}${words}`
    before = unit.kind
  }
  return { text, said }
}

const asSentence = (text: string): string => (/[.!?:…]$/.test(text) ? text : `${text}.`)

import type { Unit } from '../corpus/split-page.ts'
import type { Section } from '../search/find-sections.ts'
import type { SearchIndex, Understood } from '../search/search-index.ts'
import { definitionsBeside, type QuoteOptions, type Stretch, stretchOf } from './quote-stretch.ts'
import {
  coverageOfUnits,
  groupAt,
  introduces,
  leans,
  NONE,
  readSection,
  sizeOf,
  type Told,
  textOf,
} from './told-units.ts'

/** What is taken of a section, and which words of the query it says. */
export interface Quote {
  readonly text: string
  readonly said: ReadonlySet<number>
  /** How much of the query, by the weight of its words, one of its units and the heading say together: 0 to 1. */
  readonly coverage: number
}

/** Rows and items beside the best that say nearly as much. */
const NEARLY = 0.5
/** Behind so many characters only what says something of the query is added. */
const ENOUGH = 260
/** A table or list of no more is given whole; and an example, which nobody reads in an answer when it is long. */
const WHOLE = 420
const WHOLE_CODE = 320

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
  const units = readSection(index, query, section, options.known ?? NONE)
  const taken = new Map<number, readonly number[]>()
  const stretch = stretchOf(units, query, section, options)
  const { start, isAlone } = stretch
  if (units[start]?.kind === 'paragraph') takeParagraphs(units, stretch, taken, options)
  else if (isAlone) takeAll(units, definitionsBeside(units, start, query, options), taken)
  else takeBlock(units, start, taken, options)
  // What announces an example that is too long is better than nothing.
  if (taken.size === 0) takeAll(units, [start], taken)
  const quoted = [...taken.keys()].flatMap((place) => units[place] ?? [])
  return { ...written(units, taken), coverage: coverageOfUnits(query, section, quoted) }
}

type Taken = Map<number, readonly number[]>

/** Some of the sentences of a unit, by their places. */
const all = (unit: Told | undefined): number[] => [...(unit?.sentences.keys() ?? [])]

function takeAll(units: readonly Told[], places: readonly number[], taken: Taken): void {
  for (const place of places) taken.set(place, all(units[place]))
}

function takeBlock(units: readonly Told[], start: number, taken: Taken, { room }: QuoteOptions): void {
  const group = groupAt(units, start)
  const first = group[0] ?? start
  const intro = introduces(units[first - 1]) ? [first - 1] : []
  const left = room - sizeOf(intro.flatMap((place) => units[place] ?? []))
  const chosen =
    units[start]?.kind === 'item' ? itemsOf(units, start, group, left) : rowsOf(units, start, group, left)
  takeAll(units, [...intro, ...chosen], taken)
}

/** Items may lean on those before them: from the first as far as there is room, unless the one asked for is farther. */
function itemsOf(units: readonly Told[], start: number, group: readonly number[], room: number): number[] {
  const chosen: number[] = []
  let left = room
  for (const place of group) {
    left -= sizeOf(units.slice(place, place + 1))
    if (left < 0) break
    chosen.push(place)
  }
  return chosen.includes(start) ? chosen : rowsOf(units, start, group, room)
}

/** All where they are few; else those that say most, and where none says anything the first. */
function rowsOf(units: readonly Told[], start: number, group: readonly number[], room: number): number[] {
  const unitAt = (place: number): Told[] => (units[place] === undefined ? [] : [units[place]])
  if (sizeOf(group.flatMap(unitAt)) <= Math.min(WHOLE, room)) return [...group]
  const valueAt = (place: number): number => units[place]?.value ?? 0
  const best = Math.max(...group.map(valueAt))
  const fitting = group.filter((place) => place === start || valueAt(place) >= NEARLY * best)
  const order = fitting.toSorted(
    (a, b) => Number(b === start) - Number(a === start) || valueAt(b) - valueAt(a) || a - b,
  )
  const chosen: number[] = []
  let left = room
  for (const place of order) {
    left -= sizeOf(unitAt(place))
    if (left < 0 && chosen.length > 0) break
    chosen.push(place)
  }
  return chosen.toSorted((a, b) => a - b)
}

function takeParagraphs(
  units: readonly Told[],
  { start, target, isAlone }: Stretch,
  taken: Taken,
  options: QuoteOptions,
): void {
  const from = withWhatItLeansOn(units, start, target, options.room)
  let left = options.room
  let isBroken = false
  for (let place = from; place < units.length; place++) {
    const unit = units[place]
    if (unit === undefined || unit.kind !== 'paragraph') {
      // A list that is asked for has to be shown; what else nothing introduces is passed over.
      if (place === target && unit?.kind === 'item') {
        takeAll(units, itemsOf(units, place, groupAt(units, place), left), taken)
        break
      }
      isBroken = true
      continue
    }
    const isMore = isAlone ? leans(unit.sentences[0]) : options.room - left < ENOUGH || unit.value > 0
    const isDue = place <= target || isMore
    if (!isDue || (isBroken && leans(unit.sentences[0])) || (place > start && textOf(unit).length > left))
      break
    const some = sentencesThatFit(unit, place === from ? left : Math.max(left, 0), place <= start)
    if (some.length === 0) break
    taken.set(place, some)
    left -= some.reduce((sum, one) => sum + (unit.sentences[one]?.length ?? 0) + 1, 0)
    isBroken = some.length < unit.sentences.length
    if (introduces(unit) && !isBroken) {
      const behind = groupAt(units, place + 1)
      const block = blockBehind(units, behind, left)
      if (block.length === 0) {
        // What goes on behind it may be about what is not shown.
        dropLast(taken, place)
        if (taken.size > 0 && place >= target) break
      }
      takeAll(units, block, taken)
      left -= sizeOf(block.flatMap((one) => units[one] ?? []))
      isBroken = block.length < behind.length
      place += behind.length
    }
  }
}

/** Paragraphs before the start belong to it as long as it leans on them, and there is room for all. */
function withWhatItLeansOn(units: readonly Told[], start: number, target: number, room: number): number {
  let from = start
  while (leans(units[from]?.sentences[0]) && units[from - 1]?.kind === 'paragraph') from -= 1
  return sizeOf(units.slice(from, target + 1)) <= room ? from : start
}

/** What a sentence with a colon introduces, as far as it is to be shown. */
function blockBehind(units: readonly Told[], behind: readonly number[], room: number): readonly number[] {
  const [first] = behind
  if (first === undefined) return []
  const block = behind.flatMap((place) => units[place] ?? [])
  if (units[first]?.kind === 'code') return sizeOf(block) <= WHOLE_CODE ? behind : []
  return sizeOf(block) <= room
    ? behind
    : block.some(({ value }) => value > 0)
      ? rowsOf(units, first, behind, room)
      : []
}

/** A sentence that announces what is not shown is left out. */
function dropLast(taken: Taken, place: number): void {
  const some = taken.get(place) ?? []
  if (some.length > 1) taken.set(place, some.slice(0, -1))
  else taken.delete(place)
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

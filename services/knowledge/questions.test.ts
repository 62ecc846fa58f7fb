import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { readAsked } from './asked.ts'
import { type Knowledge, openKnowledge } from './knowledge.ts'
import { splitPage } from './sections.ts'
import {
  labelledQuestions,
  type QuestionScore,
  scoreQuestions,
  summarise,
} from './testing/score-questions.ts'

/**
 * A little below what bench/knowledge.bench.ts prints: pages change, and one question is a hundredth. The parts of `UNSEEN` were
 * never looked at while search and chat were made better, so they stand lower than those that were (decision 0154).
 */
const LEAST_HIT_AT_5 = 0.9
const LEAST_CHAT = 0.85
const UNSEEN: readonly string[] = ['blind', 'unseen']
/** With talk before each question. */
const LEAST_WITH_TALK = 0.78
const PARTS = [
  { split: 'tune', hitAt5: LEAST_HIT_AT_5, chat: LEAST_CHAT },
  { split: 'held', hitAt5: LEAST_HIT_AT_5, chat: LEAST_CHAT },
  { split: 'fresh', hitAt5: LEAST_HIT_AT_5, chat: LEAST_CHAT },
  { split: 'open', hitAt5: LEAST_HIT_AT_5, chat: LEAST_CHAT },
  { split: 'own', hitAt5: LEAST_HIT_AT_5, chat: LEAST_CHAT },
  { split: 'roles', hitAt5: 0.96, chat: 0.86 },
  { split: 'blind', hitAt5: 0.87, chat: 0.79 },
  { split: 'voices', hitAt5: 0.96, chat: 0.92 },
  { split: 'unseen', hitAt5: 0.82, chat: 0.64 },
] as const

/** Seconds on a machine with nothing else to do. */
const HOOK_MS = 120_000

const DOCS = join(import.meta.dirname, '../../docs')

let knowledge: Knowledge
let scores: QuestionScore[]

beforeAll(async () => {
  knowledge = await openKnowledge({
    folder: DOCS,
    publicUrl: () => '',
    report: () => undefined,
  })
  scores = await scoreQuestions(knowledge, labelledQuestions())
}, HOOK_MS)

/** The failures, save those of the parts that nobody is to look at. */
const missed = (wrong: readonly QuestionScore[]): string =>
  wrong
    .filter(({ split }) => !UNSEEN.includes(split))
    .map(({ question, found, cited }) => `${question} | found ${found.join(' ')} | cited ${cited.join(' ')}`)
    .join('\n')

test('the questions are enough, in callers’ words, and some have no answer', () => {
  const questions = labelledQuestions()
  expect(questions.length).toBeGreaterThanOrEqual(200)
  expect(new Set(questions.map(({ question }) => question)).size).toBe(questions.length)
  const unanswerable = questions.filter(({ places }) => places.length === 0)
  expect(unanswerable.every(({ kind }) => kind === 'unanswerable')).toBe(true)
  expect(unanswerable.length / questions.length).toBeGreaterThan(0.1)
})

test('every question is labelled with at least one place that exists', async () => {
  const pages = await knowledge.pages()
  const places = new Set(
    pages.flatMap(({ name, blocks }) => [
      name,
      ...blocks.flatMap((block) => (block.kind === 'heading' ? [`${name}#${block.anchor}`] : [])),
    ]),
  )
  const nowhere = labelledQuestions().filter(
    (question) => question.places.length > 0 && !question.places.some((place) => places.has(place)),
  )
  expect(nowhere.map(({ question }) => question)).toEqual([])
})

describe('how people ask', () => {
  const asked = readAsked(readFileSync(join(DOCS, 'asked.txt'), 'utf8'))

  test('is written down for sections that exist', async () => {
    const sections = new Set((await knowledge.pages()).flatMap(splitPage).map(({ id }) => id))
    expect([...asked.bySection.keys()].filter((id) => !sections.has(id))).toEqual([])
  })

  test('leads to one section, or to none', () => {
    const all = [...asked.bySection.values(), asked.unanswered].flat()
    expect(all.filter((wording, place) => all.indexOf(wording) !== place)).toEqual([])
  })
})

describe.each(PARTS)('of the questions of the part $split', ({ split, hitAt5, chat }) => {
  test('the search finds nearly all among five', () => {
    const part = scores.filter((one) => one.split === split)
    const wrong = part.filter(({ places, rank }) => places.length > 0 && rank === undefined)
    expect(summarise(part).hitAt5, missed(wrong)).toBeGreaterThanOrEqual(hitAt5)
  })

  test('the chat answers from the right place, or rightly does not answer', () => {
    const part = scores.filter((one) => one.split === split)
    const wrong = part.filter(({ isRightChat }) => !isRightChat)
    expect(summarise(part).chat, missed(wrong)).toBeGreaterThanOrEqual(chat)
  })
})

test('an answer is from two sections at most, and what no page answers is refused', () => {
  expect(scores.filter(({ cited }) => cited.length > 2)).toEqual([])
  const without = scores.filter(({ split, places }) => places.length === 0 && !UNSEEN.includes(split))
  const refused = without.filter(({ cited }) => cited.length === 0)
  expect(
    refused.length / without.length,
    missed(without.filter(({ cited }) => cited.length > 0)),
  ).toBeGreaterThan(0.9)
})

test('talk around a question does not hide it', async () => {
  const about = labelledQuestions().map((one) => ({
    ...one,
    question: `I have been building a dashboard over the weekend and got stuck, ${one.question}`,
  }))
  const wrapped = await scoreQuestions(knowledge, about)
  expect(
    summarise(wrapped).chat,
    missed(wrapped.filter(({ isRightChat }) => !isRightChat)),
  ).toBeGreaterThanOrEqual(LEAST_WITH_TALK)
})

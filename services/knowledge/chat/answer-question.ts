import { reasonOf } from '../../../contracts/errors.ts'
import { type Citation, EXTRACTIVE_MODEL } from '../../../contracts/knowledge-answers.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Shelf } from '../library.ts'
import { cite, type Found, findSections } from '../search/find-sections.ts'
import type { SearchIndex, Understood } from '../search/search-index.ts'
import { type ChatModel, ChatModelError, type GivenPassage } from './chat-model.ts'
import { type DraftAnswer, extractiveAnswer } from './extractive-answer.ts'
import { quoteSection } from './quote-section.ts'
import { readCompletion } from './read-completion.ts'

/** The sections found for a question; nothing is written yet. */
export interface Research {
  readonly question: string
  readonly shelf: Shelf
  readonly query: Understood
  /** Sections that may answer it; none where the documentation does not say. */
  readonly sections: readonly Found[]
  /** Their text about it, word for word. */
  readonly draft: DraftAnswer
}

/** An answer, before it is counted. */
export interface WrittenAnswer {
  readonly answer: string
  readonly citations: Citation[]
  readonly model: string
  /** Why another model than the one that was asked for answered; else null. */
  readonly note: string | null
}

/**
 * When a question is answered: the agreement and the coverage of the best section speak for it, and its sounding like what is
 * answered; nearness to questions that no page answers speaks against it. A logistic regression over wordings that were
 * left out of the index; where they pass, 95 of 100 of those with an answer do (decisions 0043 and 0154).
 */
const ANSWERABLE = { agreement: 3.45, coverage: 2.9, leaning: 1.6, unanswered: -1.5 }

export const NOT_SAID = 'The documentation does not say.'

/** Looks up what a question can be answered from: as a whole, or else by the first part of it that asks and can be answered. */
export function research(shelf: Shelf, question: string): Research {
  const whole = lookUp(shelf, question)
  if (whole.sections.length > 0) return whole
  const parts = question.split(BETWEEN_PARTS).filter((part) => part !== question && ASKS.test(part))
  for (const part of parts) {
    const found = lookUp(shelf, part)
    if (found.sections.length > 0) return { ...found, question }
  }
  return whole
}

/** People surround a question with sentences, or with parts between commas and dashes. */
const BETWEEN_PARTS = /(?<=[.!?;:,])\s+|\s+[–—-]\s+|\n+/

const ASKS = /\?\s*$|^\W*(?:how|what|which|why|when|where|who|can|do|does|is|are|will|may|must|should)\b/i

function lookUp(shelf: Shelf, question: string): Research {
  const query = shelf.index.understand(question)
  const found = findSections(shelf.index, query).slice(0, LIMITS.chatPassages)
  const draft = extractiveAnswer(shelf.index, query, found)
  const [best] = found
  const isKnown = best !== undefined && isAnswerable(shelf.index, query, best)
  return { question, shelf, query, draft, sections: isKnown ? found : [] }
}

const isAnswerable = (index: SearchIndex, query: Understood, { agreement, coverage }: Found): boolean =>
  ANSWERABLE.agreement * agreement +
    ANSWERABLE.coverage * coverage +
    ANSWERABLE.leaning * index.leaning(query) +
    ANSWERABLE.unanswered * index.unanswered(query) >=
  0

/** The answer where the documentation does not say. */
export const refusal = (model: string): WrittenAnswer => ({
  answer: NOT_SAID,
  citations: [],
  model,
  note: null,
})

export interface WriterOptions {
  readonly publicUrl: () => string
  /** Told why a model gave no answer. */
  readonly report: (reason: string, cause: unknown) => void
}

/** Writes answers: extractively, or by a model, in whose place the other steps where it cannot. */
export function createWriter({ publicUrl, report }: WriterOptions) {
  let underWay = 0
  const written = ({ shelf, query }: Research, draft: DraftAnswer, model: string): WrittenAnswer => ({
    answer: draft.answer,
    citations: cite(shelf.index, query, draft.sections, publicUrl()),
    model,
    note: null,
  })
  const extractive = (found: Research): WrittenAnswer => written(found, found.draft, EXTRACTIVE_MODEL)
  const instead = (found: Research, reason: string): WrittenAnswer => ({
    ...extractive(found),
    note: `Answered by ${EXTRACTIVE_MODEL}: ${reason}.`,
  })

  return {
    extractive,
    /** Never rejects: there is always the extractive answer. */
    async byModel(model: ChatModel, found: Research): Promise<WrittenAnswer> {
      if (underWay >= LIMITS.chatModelAtOnce)
        return instead(found, 'the model has as many questions as it takes')
      underWay += 1
      try {
        const text = await model.complete(
          found.question,
          found.sections.map((one) => asGiven(found, one)),
        )
        const read = readCompletion(text, found.sections)
        if (read.kind === 'answer') return written(found, read, model.name)
        return read.kind === 'not said' ? refusal(model.name) : instead(found, read.reason)
      } catch (error) {
        const reason = error instanceof ChatModelError ? reasonOf(error) : 'the model failed'
        report(reason, error)
        return instead(found, reason)
      } finally {
        underWay -= 1
      }
    },
  }
}

function asGiven({ shelf: { index }, query }: Research, { section }: Found): GivenPassage {
  const { pageTitle, heading, blocks } = section
  const title = heading === '' ? pageTitle : `${pageTitle}: ${heading}`
  const text = quoteSection(blocks, index.valueOf(query), GIVEN_CHARACTERS)
  return { title, text: text.slice(0, GIVEN_CHARACTERS).toWellFormed() }
}

/** Limit of one section, so that a long example does not crowd out the others. */
const GIVEN_CHARACTERS = 2_000

import { type Citation, EXTRACTIVE_MODEL } from '../../contracts/answers/knowledge.ts'
import { reasonOf } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { IsAnswerable } from './answerable.ts'
import { checkCompletion } from './check-completion.ts'
import { quoteSection, shortened, type ValueOf } from './excerpt.ts'
import { type ChatModel, ChatModelError } from './llm.ts'
import { cite, type SearchIndex } from './search.ts'
import type { Section } from './sections.ts'

/** The sections that may answer a question; none if the documentation does not say. */
export interface Research {
  readonly question: string
  readonly sections: readonly Section[]
  readonly valueOf: ValueOf
}

/** An answer, before it is counted. */
export interface WrittenAnswer {
  readonly answer: string
  readonly citations: Citation[]
  readonly model: string
  /** Why another model than the requested one answered; else null. */
  readonly note: string | null
}

const NOT_SAID = 'The documentation does not say.'
/** The second section is right often enough to be quoted with the first. */
const QUOTED_SECTIONS = 2
const GAP = '\n\n'
/** Limit of one section for a model, so that a long example does not crowd out the others. */
const PASSAGE_CHARACTERS = 2_000

/** People surround a question with sentences, or with parts between commas and dashes. */
const BETWEEN_PARTS = /(?<=[.!?;:,])\s+|\s+[–—-]\s+|\n+/
const ASKS = /\?\s*$|^\W*(?:how|what|which|why|when|where|who|can|do|does|is|are|will|may|must|should)\b/i

/** Finds the sections that answer a question: as a whole, or else by its first part that is a question and has an answer. */
export function research(index: SearchIndex, isAnswerable: IsAnswerable, question: string): Research {
  const parts = question.split(BETWEEN_PARTS).filter((part) => part !== question && ASKS.test(part))
  for (const text of [question, ...parts]) {
    const hits = index.find(text).slice(0, LIMITS.chatPassages)
    if (hits[0] !== undefined && isAnswerable(text, hits[0]))
      return { question, sections: hits.map(({ section }) => section), valueOf: index.valueOf(text) }
  }
  return { question, sections: [], valueOf: () => 0 }
}

/** The answer if the documentation does not say. */
export const refusal = (model: string): WrittenAnswer => ({
  answer: NOT_SAID,
  citations: [],
  model,
  note: null,
})

export interface WriterOptions {
  readonly publicUrl: () => string
  /** Receives why a model gave no answer. */
  readonly report: (reason: string, cause: unknown) => void
}

/** Writes answers: by quoting, or by a model, which quoting replaces if it fails. */
export function createWriter({ publicUrl, report }: WriterOptions) {
  let inFlight = 0
  const written = (
    { valueOf }: Research,
    { answer, sections }: { readonly answer: string; readonly sections: readonly Section[] },
    model: string,
  ): WrittenAnswer => ({
    answer,
    citations: sections.map((section) => cite(section, valueOf, publicUrl())),
    model,
    note: null,
  })

  /** The best sections, word for word. */
  function extractive(found: Research): WrittenAnswer {
    const sections = found.sections.slice(0, QUOTED_SECTIONS)
    const room = LIMITS.chatAnswerCharacters / QUOTED_SECTIONS
    const quotes = sections.map(({ blocks }, at) => {
      const mark = ` [${at + 1}]`
      const quote = quoteSection(blocks, found.valueOf, LIMITS.chatExtractCharacters)
      return `${shortened(quote, room - mark.length - GAP.length)}${mark}`
    })
    return written(found, { answer: quotes.join(GAP), sections }, EXTRACTIVE_MODEL)
  }

  const instead = (found: Research, reason: string): WrittenAnswer => ({
    ...extractive(found),
    note: `Answered by ${EXTRACTIVE_MODEL}: ${reason}.`,
  })

  return {
    extractive,
    /** Never rejects: there is always the extractive answer. */
    async byModel(model: ChatModel, found: Research): Promise<WrittenAnswer> {
      if (inFlight >= LIMITS.chatModelAtOnce)
        return instead(found, `the model is already answering ${inFlight} questions, its limit`)
      inFlight += 1
      try {
        const passages = found.sections.map(({ title, blocks }) => ({
          title,
          text: quoteSection(blocks, found.valueOf, PASSAGE_CHARACTERS)
            .slice(0, PASSAGE_CHARACTERS)
            .toWellFormed(),
        }))
        const checked = checkCompletion(await model.complete(found.question, passages), found.sections)
        if (checked.kind === 'answer') return written(found, checked, model.name)
        return checked.kind === 'not said' ? refusal(model.name) : instead(found, checked.reason)
      } catch (error) {
        const reason = error instanceof ChatModelError ? reasonOf(error) : 'the model failed'
        report(reason, error)
        return instead(found, reason)
      } finally {
        inFlight -= 1
      }
    },
  }
}

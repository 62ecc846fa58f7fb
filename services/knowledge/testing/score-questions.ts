import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { EXTRACTIVE_MODEL } from '../../../contracts/answers/knowledge.ts'
import type { Knowledge } from '../knowledge.ts'

const questionSchema = z.strictObject({
  question: z.string(),
  kind: z.enum(['plain', 'paraphrase', 'misspelt', 'unanswerable']),
  /**
   * The splits: looked at while the first search was made, kept aside then, written for its answers later;
   * what somebody wrote from nothing but the list of roles and what is sold (`open`), and what was written beside the
   * wordings of `asked.txt` (`own`). The answers to all of these have been read since. Then two halves of what callers,
   * subscribers, analysts and operators ask, written before a page was opened: one was looked at (`roles`), the other is only
   * counted (`blind`). Read no answer to it, and write no wording for it: then it would tell nothing any more.
   * `voices` and `unseen` are such halves of later questions, by newcomers, callers, subscribers and analysts, told apart by
   * the hash of the question; only the first was looked at.
   */
  split: z.enum(['tune', 'held', 'fresh', 'open', 'own', 'roles', 'blind', 'voices', 'unseen']),
  /** Pages or sections that hold the answer; none where the documentation does not say. */
  places: z.array(z.string()),
})

export type LabelledQuestion = z.infer<typeof questionSchema>

/** Questions in callers' words, written before the passages that answer them were looked at, and labelled after. */
export const labelledQuestions = (): LabelledQuestion[] =>
  z.array(questionSchema).parse(JSON.parse(readFileSync(join(import.meta.dirname, 'questions.json'), 'utf8')))

export interface QuestionScore extends LabelledQuestion {
  /** Place of the first right section among those found, from 1; undefined where none of five is right. */
  readonly rank: number | undefined
  /** Whether the chat cites a right section, or rightly says that the documentation does not say. */
  readonly isRightChat: boolean
  readonly found: readonly string[]
  readonly cited: readonly string[]
}

/** Whether a section is one of those labelled: itself, or its whole page. */
const isAt = (id: string, places: readonly string[]): boolean =>
  places.some((place) => id === place || id.startsWith(`${place}#`))

export async function scoreQuestions(
  knowledge: Knowledge,
  questions: readonly LabelledQuestion[],
): Promise<QuestionScore[]> {
  const scores: QuestionScore[] = []
  for (const question of questions) {
    const { results } = await knowledge.search(knowledge.readSearch({ query: question.question, limit: 5 }))
    const found = results.map(({ id }) => id)
    const request = knowledge.readChat({ question: question.question, model: EXTRACTIVE_MODEL })
    const { citations } = await (await knowledge.lookUp(request)).write()
    const cited = citations.map(({ id }) => id)
    const place = found.findIndex((id) => isAt(id, question.places))
    const isRightChat =
      question.places.length === 0 ? cited.length === 0 : cited.some((id) => isAt(id, question.places))
    scores.push({ ...question, found, cited, rank: place === -1 ? undefined : place + 1, isRightChat })
  }
  return scores
}

export interface Summary {
  readonly questions: number
  /** Share of the answerable ones with a right section first, and among five; and the mean of 1/rank. */
  readonly hitAt1: number
  readonly hitAt5: number
  readonly meanReciprocalRank: number
  /** Share of all that the chat answers from a right section or rightly does not answer. */
  readonly chat: number
}

export function summarise(scores: readonly QuestionScore[]): Summary {
  const answerable = scores.filter(({ places }) => places.length > 0)
  const share = (count: number, all: number): number => (all === 0 ? 1 : count / all)
  return {
    questions: scores.length,
    hitAt1: share(answerable.filter(({ rank }) => rank === 1).length, answerable.length),
    hitAt5: share(answerable.filter(({ rank }) => rank !== undefined).length, answerable.length),
    meanReciprocalRank: share(
      answerable.reduce((sum, { rank }) => sum + (rank === undefined ? 0 : 1 / rank), 0),
      answerable.length,
    ),
    chat: share(scores.filter(({ isRightChat }) => isRightChat).length, scores.length),
  }
}

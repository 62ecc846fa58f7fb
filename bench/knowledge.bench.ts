import { join } from 'node:path'
import { openKnowledge } from '../services/knowledge/index.ts'
import { readPages } from '../services/knowledge/pages.ts'
import { createSearchIndex } from '../services/knowledge/search.ts'
import { splitPage } from '../services/knowledge/sections.ts'
import {
  labelledQuestions,
  type QuestionScore,
  scoreQuestions,
  summarise as summariseScores,
} from '../services/knowledge/testing/score-questions.ts'
import { print } from './support/measure.ts'

/**
 * How good and how fast search and chat are: the score on the labelled questions, by part; what is missed of the part that nobody
 * is to look at is not shown. And the CPU time of building the index, of a search of ten rows
 * and of an extractive answer, over all questions in turn.
 *
 * node bench/knowledge.bench.ts          BENCH_ROUNDS=20, and BENCH_VERBOSE=1 to see what is missed
 *
 * Budgets: hit@5 at least 0.90, chat at least 0.85; index below 200 ms, search below 3 ms, answer below 3 ms.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 20)
const FOLDER = join(import.meta.dirname, '../docs')

const opened = performance.now()
const knowledge = await openKnowledge({
  folder: FOLDER,
  publicUrl: () => 'https://signals.example',
  report: (event, { reason }) => print(`${event}: ${reason}`),
})
const openMs = performance.now() - opened
const { pages, asked } = await readPages(FOLDER)
const sections = pages.flatMap(splitPage)
print(`\n${pages.length} pages in ${sections.length} sections, read and indexed in ${openMs.toFixed(0)} ms`)

const questions = labelledQuestions()
const scores = await scoreQuestions(knowledge, questions)
printScores('all', scores)
for (const [name, split] of [
  ['looked at', 'tune'],
  ['once kept aside', 'held'],
  ['written later', 'fresh'],
  ['by a stranger', 'open'],
  ['beside the wordings', 'own'],
  ['roles, looked at', 'roles'],
  ['roles', 'blind'],
  ['voices, looked at', 'voices'],
  ['voices', 'unseen'],
] as const) {
  printScores(
    `${name} (${split})`,
    scores.filter((score) => score.split === split),
  )
}
for (const kind of ['plain', 'paraphrase', 'misspelt', 'unanswerable'] as const) {
  printScores(
    kind,
    scores.filter((score) => score.kind === kind),
  )
}
if (process.env.BENCH_VERBOSE !== undefined)
  printMissed(scores.filter(({ split }) => split !== 'blind' && split !== 'unseen'))

await printTime('build the index', 200, ROUNDS, async () => void createSearchIndex(sections, asked))
await printTime('search, 10 rows', 3, ROUNDS * questions.length, async (round) => {
  await knowledge.search({ query: questionAt(round), limit: 10 })
})
await printTime('search, 50 rows', 10, ROUNDS * questions.length, async (round) => {
  await knowledge.search({ query: questionAt(round), limit: 50 })
})
await printTime('extractive answer', 3, ROUNDS * questions.length, async (round) => {
  const found = await knowledge.lookUp({ question: questionAt(round), model: 'extractive' })
  await found.write()
})

function questionAt(round: number): string {
  return questions[round % questions.length]?.question ?? ''
}

function printScores(name: string, some: readonly QuestionScore[]): void {
  const { hitAt1, hitAt5, meanReciprocalRank, chat } = summariseScores(some)
  const answerable = some.filter(({ places }) => places.length > 0).length
  const search =
    answerable === 0
      ? 'no search'.padEnd(33)
      : `hit@1 ${hitAt1.toFixed(2)}  hit@5 ${hitAt5.toFixed(2)}  MRR ${meanReciprocalRank.toFixed(2)}`
  print(
    `  ${name.padEnd(22)} ${String(some.length).padStart(3)} questions  ${search}  chat ${chat.toFixed(2)}`,
  )
}

function printMissed(all: readonly QuestionScore[]): void {
  for (const { question, rank, places, isRightChat, found, cited } of all) {
    if (isRightChat && (places.length === 0 || rank !== undefined)) continue
    print(
      `  ${question}\n    wanted ${places.join(' ')}\n    found ${found.join(' ')}\n    cited ${cited.join(' ')}`,
    )
  }
}

/**
 * Mean CPU time of this thread, which waiting for other processes does not lengthen as it does wall time. The clock of
 * it ticks in milliseconds, so single rounds cannot be told apart.
 */
async function printTime(
  name: string,
  budgetMs: number,
  rounds: number,
  work: (round: number) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < Math.min(rounds, questions.length); round++) await work(round)
  const start = process.threadCpuUsage()
  for (let round = 0; round < rounds; round++) await work(round)
  const { user, system } = process.threadCpuUsage(start)
  const mean = (user + system) / 1_000 / rounds
  const verdict = mean < budgetMs ? 'meets' : 'MISSES'
  print(
    `  ${name.padEnd(18)} ${mean.toFixed(2)} ms of CPU in the mean of ${rounds}  ${verdict} ${budgetMs} ms`,
  )
}

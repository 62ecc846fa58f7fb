import { EXTRACTIVE_MODEL, type SearchAnswer } from '../../contracts/answers/knowledge.ts'
import type { ChatRequest, SearchRequest } from '../../contracts/tools/free-tools.ts'
import { createAnswerability } from './answerable.ts'
import { createWriter, type Research, refusal, research, type WrittenAnswer } from './chat-answer.ts'
import type { ChatModel } from './llm.ts'
import { type DocPage, readPages } from './pages.ts'
import { readChatRequest, readSearchRequest } from './read-request.ts'
import { cite, createSearchIndex } from './search.ts'
import { splitPage } from './sections.ts'

export interface KnowledgeOptions {
  /** The folder of the documentation. */
  readonly folder: string
  /** Public address of the service, without a slash at the end; empty until it is known. */
  readonly publicUrl: () => string
  /** A model that costs money; the default if there is one. */
  readonly model?: ChatModel | undefined
  /** Receives faults of the model, for the operator. */
  readonly report: (event: string, details: { readonly reason: string; readonly err?: unknown }) => void
}

/** A question with the sections found for it. */
export interface Lookup {
  readonly request: ChatRequest
  /** False if the documentation does not say: the answer costs nothing then. */
  readonly isAnswerable: boolean
  /** Writes the answer. Never rejects. */
  write(): Promise<WrittenAnswer>
}

export type Knowledge = Awaited<ReturnType<typeof openKnowledge>>

/**
 * Opens the documentation for searches and questions. It is indexed in memory on first use, so a start waits for
 * nothing; it knows nothing of callers.
 */
export async function openKnowledge({ folder, publicUrl, model, report }: KnowledgeOptions) {
  const { pages, asked } = await readPages(folder)
  const byName = new Map(pages.map((page) => [page.name, page]))
  let opened: ReturnType<typeof indexPages> | undefined
  const indexPages = () => {
    const sections = pages.flatMap(splitPage)
    return { index: createSearchIndex(sections, asked), isAnswerable: createAnswerability(sections, asked) }
  }
  const open = () => (opened ??= indexPages())
  const writer = createWriter({
    publicUrl,
    report: (reason, err) => report('a chat model gave no answer', { reason, err }),
  })
  const models = model === undefined ? [EXTRACTIVE_MODEL] : [model.name, EXTRACTIVE_MODEL]

  async function write(found: Research, name: string): Promise<WrittenAnswer> {
    if (found.sections.length === 0) return refusal(name)
    return name === model?.name ? writer.byModel(model, found) : writer.extractive(found)
  }

  return {
    readSearch: readSearchRequest,
    async search({ query, limit }: SearchRequest): Promise<SearchAnswer> {
      const { index } = open()
      const hits = index.find(query)
      const valueOf = index.valueOf(query)
      const results = hits.slice(0, limit).map(({ section, score }) => ({
        ...cite(section, valueOf, publicUrl()),
        // Further digits differ between machines, and answers are compared by their bytes.
        score: Math.round(score * 1_000) / 1_000,
      }))
      return { query, total: hits.length, results }
    },
    readChat: (request: unknown) => readChatRequest(request, models),
    async lookUp(request: ChatRequest): Promise<Lookup> {
      const { index, isAnswerable } = open()
      const found = research(index, isAnswerable, request.question)
      return { request, isAnswerable: found.sections.length > 0, write: () => write(found, request.model) }
    },
    /** Pages in the order of their names. */
    pages: async (): Promise<readonly DocPage[]> => pages,
    page: async (name: string): Promise<DocPage | undefined> => byName.get(name),
  }
}

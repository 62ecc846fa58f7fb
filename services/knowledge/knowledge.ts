import { EXTRACTIVE_MODEL, type SearchAnswer } from '../../contracts/knowledge-answers.ts'
import type { ChatRequest } from '../../contracts/tools/chat-knowledge.ts'
import type { SearchRequest } from '../../contracts/tools/search-knowledge.ts'
import { createWriter, type Research, refusal, research, type WrittenAnswer } from './chat/answer-question.ts'
import type { ChatModel } from './chat/chat-model.ts'
import type { DocPage } from './corpus/read-pages.ts'
import { openLibrary } from './library.ts'
import { readChatRequest, readSearchRequest } from './read-request.ts'
import { cite, findSections } from './search/find-sections.ts'

export interface KnowledgeOptions {
  /** The folder of the documentation. */
  readonly folder: string
  /** Public address of the service, without a slash at the end; empty while it is not known. */
  readonly publicUrl: () => string
  /** A model that costs money, answering where none is asked for by name. */
  readonly model?: ChatModel | undefined
  /** Told what the operator should know: a model that gives no answer. */
  readonly report: (event: string, details: { readonly reason: string; readonly err?: unknown }) => void
}

/** A question that was looked up, and how it will be answered. */
export interface Lookup {
  readonly request: ChatRequest
  /** False where the documentation does not say: the answer costs nothing then. */
  readonly isAnswerable: boolean
  /** Whether writing the answer costs money. */
  readonly isPaid: boolean
  /** Writes the answer. Never rejects. */
  write(): Promise<WrittenAnswer>
}

export type Knowledge = Awaited<ReturnType<typeof openKnowledge>>

/** Opens the documentation, indexed in memory, for searches and questions. It knows nothing of callers. */
export async function openKnowledge(options: KnowledgeOptions) {
  const { folder, publicUrl, model, report } = options
  const library = await openLibrary(folder)
  const writer = createWriter({
    publicUrl,
    report: (reason, err) => report('a chat model gave no answer', { reason, err }),
  })
  const models = model === undefined ? [EXTRACTIVE_MODEL] : [model.name, EXTRACTIVE_MODEL]

  const write = async (found: Research, name: string): Promise<WrittenAnswer> => {
    if (found.sections.length === 0) return refusal(name)
    return model !== undefined && name === model.name
      ? writer.byModel(model, found)
      : writer.extractive(found)
  }

  return {
    readSearch: readSearchRequest,
    async search({ query, limit }: SearchRequest): Promise<SearchAnswer> {
      const { index } = library
      const understood = index.understand(query)
      const sections = findSections(index, understood)
      const best = sections.slice(0, limit)
      const cited = cite(index, understood, best, publicUrl())
      const results = cited.map((one, place) => ({ ...one, score: rounded(best[place]?.score ?? 0) }))
      return { query, total: sections.length, results }
    },
    readChat: (request: unknown) => readChatRequest(request, models),
    async lookUp(request: ChatRequest): Promise<Lookup> {
      const found = research(library, request.question)
      const isAnswerable = found.sections.length > 0
      const isPaid = isAnswerable && request.model !== EXTRACTIVE_MODEL
      return { request, isAnswerable, isPaid, write: () => write(found, request.model) }
    },
    /** Pages in the order of their names. */
    pages: async (): Promise<readonly DocPage[]> => [...library.pages.values()],
    page: async (name: string): Promise<DocPage | undefined> => library.pages.get(name),
    close: () => library.close(),
  }
}

/** Further digits differ between machines, and answers are compared by their bytes. */
const rounded = (score: number): number => Math.round(score * 1_000) / 1_000

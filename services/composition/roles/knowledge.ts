import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type ChatIndex,
  ChatLedger,
  createChatIndex,
  createOpenAiModel,
  openKnowledge,
} from '../../knowledge/index.ts'
import { createKnowledgeService } from '../../tool-calls/index.ts'
import type { CallerParts } from '../shared-parts.ts'
import { keepsNoReadModels } from './read-models.ts'

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url))
const PYTHON_CLIENT = '../clients/python/signal_client/__init__.py'

/** The documentation of this process, to be searched and asked, over HTTP and MCP. */
export async function openDocumentation(parts: CallerParts) {
  const { settings, platform, projector, accounts, publicUrl, log, shutdown } = parts
  const { LLM_BASE_URL: baseUrl, LLM_MODEL: model, LLM_API_KEY: apiKey } = settings
  const hasModel = baseUrl !== undefined && model !== undefined
  const knowledge = await openKnowledge({
    folder: DOCS,
    publicUrl,
    model: hasModel ? createOpenAiModel({ baseUrl, model, apiKey }) : undefined,
    report: (event, details) => log.warn(details, event),
  })
  const index = projector === undefined ? NO_CHATS : createChatIndex(projector)
  const ledger = new ChatLedger({ ...platform.basics, index, signal: shutdown.stopSignal })
  const { identify } = accounts
  const service = createKnowledgeService({ identify, knowledge, ledger, publicUrl, now: Date.now })
  return { server: { service, knowledge, examples: readExamples() }, service }
}

/** The programs beside the pages, which are few and small. */
function readExamples(): ReadonlyMap<string, string> {
  const folder = join(DOCS, 'examples')
  const names = readdirSync(folder).filter((name) => /\.(?:py|ts)$/.test(name))
  const all = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
  // The programs in Python import this one file: with it beside them, they run as they are.
  return all.set('signal_client.py', readFileSync(join(DOCS, PYTHON_CLIENT), 'utf8'))
}

const NO_CHATS: ChatIndex = { find: keepsNoReadModels, position: keepsNoReadModels }

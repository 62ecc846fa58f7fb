import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadCommands } from '../services/cli/commands.ts'
import { answerHelp } from '../testing/answer-help.ts'
import { pythonTypes, typeScriptTypes } from './client-types.ts'
import { commandsPage } from './commands-page.ts'
import { referencePages } from './reference-pages.ts'
import { wrapMarkdown } from './wrap-markdown.ts'

answerHelp(`Writes what is made from code: pages of docs/, and the types of the clients.

  npm run docs`)
const commands = await loadCommands()
const pages = { ...referencePages(), 'commands.md': commandsPage(commands) }
for (const [name, text] of Object.entries(pages)) {
  writeFileSync(join(import.meta.dirname, '../docs', name), wrapMarkdown(text))
}
const clients = join(import.meta.dirname, '../clients')
writeFileSync(join(clients, 'typescript/src/types.ts'), await typeScriptTypes())
writeFileSync(join(clients, 'python/signal_client/answers.py'), pythonTypes())

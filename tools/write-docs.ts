import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadCommands } from '../services/cli/commands.ts'
import { helpEntry } from '../services/cli/help.ts'
import { answerHelp } from '../testing/answer-help.ts'
import { commandsPage } from './commands-page.ts'
import { referencePages } from './reference-pages.ts'
import { wrapMarkdown } from './wrap-markdown.ts'

answerHelp(`Writes what is made from code: pages of docs/ and the help of the commands.

  npm run docs`)
const commands = await loadCommands()
writeFileSync(
  join(import.meta.dirname, '../services/cli/help.json'),
  `${JSON.stringify(commands.map(helpEntry), null, 2)}\n`,
)
const pages = { ...referencePages(), 'commands.md': commandsPage(commands) }
for (const [name, text] of Object.entries(pages)) {
  writeFileSync(join(import.meta.dirname, '../docs', name), wrapMarkdown(text))
}

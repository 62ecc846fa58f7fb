import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandsPage } from '../services/cli/commands-page.ts'
import { loadModel, modelPage, readRanges, spokenTimeframesModule } from '../services/engine/index.ts'
import { referencePages } from '../services/knowledge/index.ts'
import { wrapMarkdown } from './wrap-markdown.ts'

// npm run docs
writeFileSync(
  join(import.meta.dirname, '../contracts/spoken-timeframes.ts'),
  spokenTimeframesModule(loadModel()),
)
const pages = {
  ...referencePages(modelPage(loadModel(), readRanges())),
  'commands.md': commandsPage(),
}
for (const [name, text] of Object.entries(pages)) {
  writeFileSync(join(import.meta.dirname, '../docs', name), wrapMarkdown(text))
}

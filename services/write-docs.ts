import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandsPage } from './composition/commands/commands-page.ts'
import { loadModel } from './engine/index.ts'
import { referencePages } from './knowledge/index.ts'

// npm run docs
const pages = { ...referencePages({ model: loadModel() }), 'commands.md': commandsPage() }
for (const [name, text] of Object.entries(pages)) {
  writeFileSync(join(import.meta.dirname, '../docs', name), text)
}

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadCommands } from '../services/cli/commands.ts'
import { helpEntry } from '../services/cli/help.ts'
import { KEPT_MODELS, keptModelFile, loadModel, readRanges } from '../services/engine/index.ts'
import { PROMPTS } from '../services/mcp/prompts.ts'
import { answerHelp } from '../testing/answer-help.ts'
import { commandsPage } from './commands-page.ts'
import { modelPage } from './model/page/model-page.ts'
import { spokenTimeframesModule, walkedAucModule } from './model/page/spoken-timeframes.ts'
import { referencePages } from './reference-pages.ts'
import { skillFile } from './skill-file.ts'
import { wrapMarkdown, wrapSkill } from './wrap-markdown.ts'

answerHelp(`Writes what is made from code: pages of docs/, the help of the commands, and what contracts say of the model.

  npm run docs`)
writeFileSync(
  join(import.meta.dirname, '../contracts/spoken-timeframes.ts'),
  spokenTimeframesModule(loadModel()),
)
writeFileSync(
  join(import.meta.dirname, '../contracts/walked-auc.ts'),
  walkedAucModule(KEPT_MODELS.map((version) => loadModel(keptModelFile(version)))),
)
const commands = await loadCommands()
writeFileSync(
  join(import.meta.dirname, '../services/cli/help.json'),
  `${JSON.stringify(commands.map(helpEntry), null, 2)}\n`,
)
for (const prompt of PROMPTS) {
  const folder = join(import.meta.dirname, '../clients/skills', prompt.name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'SKILL.md'), wrapSkill(skillFile(prompt)))
}
const pages = {
  ...referencePages(modelPage(loadModel(), readRanges())),
  'commands.md': commandsPage(commands),
}
for (const [name, text] of Object.entries(pages)) {
  writeFileSync(join(import.meta.dirname, '../docs', name), wrapMarkdown(text))
}

import { readFileSync } from 'node:fs'
import { writeFileWhole } from '../../services/cli/kit/write-output.ts'
import { answerHelp } from '../../testing/answer-help.ts'
import { FIT_HELP, fitCommand } from './fit-command.ts'
import { readHistories } from './read-histories.ts'

answerHelp(FIT_HELP)
process.exitCode = await fitCommand(process.argv.slice(2), {
  histories: readHistories,
  readText: (path) => readFileSync(path, 'utf8'),
  out: (text) => process.stdout.write(text),
  report: (line) => process.stderr.write(`${line}\n`),
  writeFile: (path, text) => writeFileWhole(path, text, new AbortController().signal),
})

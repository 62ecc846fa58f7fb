import { writeFileWhole } from '../../../services/cli/kit/write-output.ts'
import { answerHelp } from '../../../testing/answer-help.ts'
import { readHistories } from '../read-histories.ts'
import { RANGES_HELP, rangesCommand } from './ranges-command.ts'

answerHelp(RANGES_HELP)
process.exitCode = await rangesCommand(process.argv.slice(2), {
  histories: readHistories,
  out: (text) => process.stdout.write(text),
  report: (line) => process.stderr.write(`${line}\n`),
  writeFile: (path, text) => writeFileWhole(path, text, new AbortController().signal),
})

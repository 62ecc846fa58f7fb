import { readFileSync } from 'node:fs'
import { answerHelp } from '../../testing/answer-help.ts'
import { EVALUATE_HELP, evaluateCommand } from './evaluate-command.ts'
import { readHistories } from './read-histories.ts'

answerHelp(EVALUATE_HELP)
process.exitCode = await evaluateCommand(process.argv.slice(2), {
  histories: readHistories,
  out: (text) => process.stdout.write(text),
  readText: (path) => readFileSync(path, 'utf8'),
  report: (line) => process.stderr.write(`${line}\n`),
})

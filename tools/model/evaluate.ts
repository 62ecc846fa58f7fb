import { readFileSync } from 'node:fs'
import { evaluateCommand } from './evaluate-command.ts'
import { readHistories } from './read-histories.ts'

// npm run evaluate -- --data <folder> [--data <folder> …] [--json]
process.exitCode = await evaluateCommand(process.argv.slice(2), {
  histories: readHistories,
  out: (text) => process.stdout.write(text),
  report: (line) => process.stderr.write(`${line}\n`),
  readText: (path) => readFileSync(path, 'utf8'),
})

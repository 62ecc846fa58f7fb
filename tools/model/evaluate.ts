import { readFileSync } from 'node:fs'
import { createRecordedFeed } from '../../services/market/index.ts'
import { evaluateCommand } from './evaluate-command.ts'

// npm run evaluate -- --data <folder> [--json]
process.exitCode = await evaluateCommand(process.argv.slice(2), {
  openFeed: createRecordedFeed,
  out: (text) => process.stdout.write(text),
  report: (line) => process.stderr.write(`${line}\n`),
  readText: (path) => readFileSync(path, 'utf8'),
})

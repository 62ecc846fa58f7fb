import { writeFileWhole } from '../../../services/cli/kit/write-output.ts'
import { readHistories } from '../read-histories.ts'
import { rangesCommand } from './ranges-command.ts'

// npm run fit:ranges -- --data <folder> [--data <folder> …] [--out ranges.json]
process.exitCode = await rangesCommand(process.argv.slice(2), {
  histories: readHistories,
  out: (text) => process.stdout.write(text),
  report: (line) => process.stderr.write(`${line}\n`),
  writeFile: (path, text) => writeFileWhole(path, text, new AbortController().signal),
})

import { writeFileWhole } from '../../services/cli/kit/write-output.ts'
import { fitCommand } from './fit-command.ts'
import { readHistories } from './read-histories.ts'

// npm run fit -- --data <folder> [--data <folder> …] [--out model.json]
process.exitCode = await fitCommand(process.argv.slice(2), {
  histories: readHistories,
  out: (text) => process.stdout.write(text),
  report: (line) => process.stderr.write(`${line}\n`),
  writeFile: (path, text) => writeFileWhole(path, text, new AbortController().signal),
})

import { writeFileWhole } from '../../services/cli/write-output.ts'
import { createRecordedFeed } from '../../services/market/index.ts'
import { fitCommand } from './fit-command.ts'

// npm run fit -- --data <folder> [--out model.json]
process.exitCode = await fitCommand(process.argv.slice(2), {
  openFeed: createRecordedFeed,
  out: (text) => process.stdout.write(text),
  report: (line) => process.stderr.write(`${line}\n`),
  writeFile: (path, text) => writeFileWhole(path, text, new AbortController().signal),
})

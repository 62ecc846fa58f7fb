import { writeFileWhole } from './cli/write-output.ts'
import { fitCommand } from './engine/index.ts'
import { createRecordedFeed } from './market/index.ts'

// npm run fit -- --data <folder> [--out model.json]
process.exitCode = await fitCommand(process.argv.slice(2), {
  openFeed: createRecordedFeed,
  out: (text) => process.stdout.write(text),
  report: (line) => process.stderr.write(`${line}\n`),
  writeFile: (path, text) => writeFileWhole(path, text, new AbortController().signal),
})

import { answerHelp } from '../../testing/answer-help.ts'
import { countJourneys, missing } from './journeys.ts'

answerHelp(`Counts the product files that run for one request of each journey of ARCHITECTURE.md, beyond what an idle service runs.

  npm run journeys
  npm run journeys -- --files

  --files  names the files, each with the functions that ran`)
if (missing !== undefined) throw new Error(`The journeys cannot be counted${missing}`)
const isNamingFiles = process.argv.includes('--files')
const lines = (await countJourneys()).flatMap(({ name, files }) => [
  `${String(files.size).padStart(4)} files  ${name}`,
  ...(isNamingFiles
    ? Array.from(files, ([file, functions]) => `      ${file}  ${functions.join(', ')}`)
    : []),
])
// All that was started is stopped; connections that linger would keep the process for a while.
process.stdout.write(`${lines.join('\n')}\n`, () => process.exit(0))

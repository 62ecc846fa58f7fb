import { readFileSync, writeFileSync } from 'node:fs'
import { loadModel } from '../../services/engine/index.ts'
import { answerHelp } from '../../testing/answer-help.ts'
import { addSamples, eachCoin, emptySamples, readFlags, simulatedSamples } from './command.ts'
import { ALWAYS, CHOOSE_FROM } from './periods.ts'
import { coveragePicture, reliabilityPicture } from './pictures.ts'
import {
  coverages,
  coverageTable,
  directionTable,
  gateTable,
  reliabilityOf,
  reliabilityTable,
  togetherTable,
} from './tables.ts'

answerHelp(`Measures the verdict model of this release on candles and prints its tables.

  npm run evaluate -- [--data FOLDER]... [--coins BTC,ETH] [--write]

  --write  puts the tables into docs/model.md and the pictures beside it`)
const flags = readFlags(process.argv.slice(2))
const model = loadModel()
const all = emptySamples()
eachCoin(flags, (files, coin) => addSamples(all, model, files, coin))
const simulated = simulatedSamples(model)
const coverage = coverages(all, model, simulated)
const tables = {
  gate: gateTable(all),
  direction: directionTable(all, model, simulated),
  together: togetherTable(all, model),
  reliability: reliabilityTable(all, model),
  ranges: coverageTable(coverage),
}
for (const [name, text] of Object.entries(tables)) process.stdout.write(`\n## ${name}\n\n${text}\n`)

if (flags.write) {
  const page = new URL('../../docs/model.md', import.meta.url)
  let text = readFileSync(page, 'utf8')
  for (const [name, rows] of Object.entries(tables)) {
    const [begin, end] = [`<!-- ${name} -->\n\n`, `\n\n<!-- end of ${name} -->`]
    const [from, to] = [text.indexOf(begin), text.indexOf(end)]
    if (from < 0 || to < from) throw new Error(`docs/model.md has no place for the table of ${name}.`)
    text = `${text.slice(0, from)}${begin}${rows}${text.slice(to)}`
  }
  writeFileSync(page, text)
  const write = (name: string, picture: string): void =>
    writeFileSync(new URL(`../../docs/images/${name}.svg`, import.meta.url), picture)
  const calling = all.get('15m')
  const found = calling && reliabilityOf(calling, CHOOSE_FROM, ALWAYS)
  if (found !== undefined) write('model-reliability', reliabilityPicture(found.bins))
  write('model-coverage', coveragePicture(coverage.filter(({ period }) => period.startsWith('untouched'))))
}

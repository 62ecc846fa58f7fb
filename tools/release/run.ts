import { resolve } from 'node:path'
import { answerHelp } from '../../testing/answer-help.ts'
import { ReleaseRefused, release } from './release.ts'

answerHelp(`Makes a release: moves "Unreleased" of the changelog to the version, sets it wherever it stands, commits and tags.

  npm run release -- 1.2.3
  npm run release -- 1.2.3 --yes

  --yes  does it; without it, the steps are said and nothing changes

The tree must be clean and on main. Nothing is pushed.`)
const [version = '', ...flags] = process.argv.slice(2)
try {
  if (flags.some((flag) => flag !== '--yes')) throw new ReleaseRefused(`There is no flag ${flags.join(' ')}.`)
  release({
    root: resolve(import.meta.dirname, '../..'),
    version,
    date: new Date().toISOString().slice(0, 10),
    isMeant: flags.includes('--yes'),
    say: (line) => process.stdout.write(`${line}\n`),
  })
} catch (error) {
  if (!(error instanceof ReleaseRefused)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
}

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { answerHelp } from '../testing/answer-help.ts'

const ROOT = resolve(import.meta.dirname, '..')

/** Each command and its explanation: a row of a table of CONTRIBUTING.md that begins with it. */
export function explainedCommands(): ReadonlyMap<string, string> {
  const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  const rows = page.matchAll(/^\| `npm (?:run )?([\w:]+)` \| (.*) \|$/gm)
  return new Map(Array.from(rows, ([, name = '', does = '']) => [name, does.replaceAll('`', '')]))
}

if (import.meta.main) {
  answerHelp(`Lists the commands of the project, each with a line that says what it does.

  npm run help`)
  const commands = explainedCommands()
  const width = Math.max(...Array.from(commands.keys(), (name) => name.length))
  for (const [name, does] of commands) process.stdout.write(`${name.padEnd(width)}  ${does}\n`)
}

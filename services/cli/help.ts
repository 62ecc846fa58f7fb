import type { FlagDefinition } from '../runtime/config/read-flags.ts'
import type { Command } from './kit/command.ts'

const PROGRAM = 'npm run -s signal --'

/** A table for people: names, and beside each its meaning. */
function listed(rows: readonly (readonly [name: string, about: string])[]): string {
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  return rows.map(([name, about]) => `  ${name.padEnd(width)}  ${about}\n`).join('')
}

/** The help of the program: all commands. */
export const generalHelp = (commands: readonly Command[]): string => `Usage: ${PROGRAM} <command> [flags]

${listed([
  ...commands.map(({ name, summary }) => [name, summary] as const),
  ['help', 'Shows this, or with the name of a command its flags.'],
])}
--version writes the release.

Data goes to standard output, remarks and progress to standard error. The exit code is 0, that of the error
(docs/commands.md lists them), or 130 after Ctrl-C.
`

/** The help of one command. */
export const helpOf = ({ name, summary, notes = [], operands = [], flags, examples }: Command): string =>
  `Usage: ${[PROGRAM, name, ...operands.map((operand) => `<${operand}>`), '[flags]'].join(' ')}

${[summary, ...notes].join('\n\n')}

${listed(Object.entries(flags).map(([flag, definition]) => [flagText(flag, definition), definition.help]))}
For example:
${examples.map((example) => `  ${runnable(example)}\n`).join('')}`

const flagText = (flag: string, { isSwitch, setting, alias }: FlagDefinition): string => {
  const other = alias === undefined ? '' : `, --${alias}`
  const variable = setting === undefined ? '' : ` (${setting})`
  return `--${flag}${other}${isSwitch === true ? '' : ' …'}${variable}`
}

export const runnable = (example: string): string => example.replace(/^signal /, `${PROGRAM} `)

import type { FlagDefinition } from '../runtime/config/read-flags.ts'
import { type Command, operandShown } from './kit/command.ts'

const PROGRAM = 'npm run -s signal --'

export function generalHelp(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return [
    `Usage: ${PROGRAM} <command> [flags]`,
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    `  ${'help'.padEnd(width)}  Shows this, or with the name of a command its flags.`,
    '',
    '--version writes the release.',
    '',
    'Data goes to standard output, remarks and progress to standard error.',
    '',
  ].join('\n')
}

export function helpOf({ name, summary, notes = [], operands = [], flags, examples }: Command): string {
  const entries = Object.entries(flags)
  const width = Math.max(0, ...entries.map(([flag, definition]) => flagText(flag, definition).length))
  return [
    `Usage: ${[PROGRAM, name, ...operands.map(operandShown), '[flags]'].join(' ')}`,
    '',
    summary,
    ...notes.flatMap((note) => ['', note]),
    '',
    ...entries.map(
      ([flag, definition]) => `  ${flagText(flag, definition).padEnd(width)}  ${definition.help}`,
    ),
    '',
    'For example:',
    ...examples.map((example) => `  ${runnable(example)}`),
    '',
  ].join('\n')
}

const flagText = (flag: string, { isSwitch, setting, alias }: FlagDefinition): string => {
  const other = alias === undefined ? '' : `, --${alias}`
  const variable = setting === undefined ? '' : ` (${setting})`
  return `--${flag}${other}${isSwitch === true ? '' : ' …'}${variable}`
}

export const runnable = (example: string): string => example.replace(/^signal /, `${PROGRAM} `)

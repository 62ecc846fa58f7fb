import { readFileSync } from 'node:fs'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { nearestName } from '../../contracts/infra/input-faults.ts'
import { explainFailure } from '../composition/explain-failure.ts'
import { type ReadFlags, readFlags } from '../runtime/config/read-flags.ts'
import { loadCommands } from './commands.ts'
import { generalHelp, helpOf } from './help.ts'
import type { Command, CommandContext } from './kit/command.ts'
import { visibleStream } from './kit/output.ts'

/** The exit code that shells report after Ctrl-C. */
export const INTERRUPTED = 130

/** Runs one command. @returns the exit code: 0, that of the error in the registry, or 130 after Ctrl-C */
export async function runCommand(args: readonly string[], given: CommandContext): Promise<number> {
  const context = { ...given, stdout: visibleStream(given.stdout), stderr: visibleStream(given.stderr) }
  try {
    const code = await dispatch(args, context)
    return context.signal.aborted ? INTERRUPTED : code
  } catch (error) {
    if (context.signal.aborted) return INTERRUPTED
    // The reader of the output has enough: `replay | head`.
    if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return 0
    return explainFailure(error, context.stderr)
  }
}

async function dispatch(args: readonly string[], context: CommandContext): Promise<number> {
  const write = (text: string): number => {
    context.stdout.write(text)
    return 0
  }
  const [name = 'help', ...rest] = args
  const isHelp = ['help', '--help', '-h'].includes(name)
  if (isHelp && rest.length === 0) return write(generalHelp(await loadCommands()))
  if (name === '--version') {
    const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
    return write(`${(JSON.parse(file) as { readonly version: string }).version}\n`)
  }
  const words = isHelp ? rest : args
  const commands = await loadCommands(words[0])
  const { command, args: flags } = findCommand(commands, words) ?? unknownCommand(commands, words)
  if (isHelp || flags.includes('--help') || flags.includes('-h')) return write(helpOf(command))
  return (await command.run({ ...context, ...readCommandLine(command, flags, context.environment) })) ?? 0
}

function unknownCommand(commands: readonly Command[], [first = '', second = '']: readonly string[]): never {
  const group = commands.filter(({ name }) => name.startsWith(`${first} `))
  const asked = group.length === 0 ? first : `${first} ${second}`.trim()
  const names = (group.length === 0 ? commands : group).map(({ name }) => name)
  const meant = nearestName(asked, names)
  throw new ServiceError('config_invalid', {
    message: `There is no command ${JSON.stringify(asked)}.${meant === undefined ? '' : ` Did you mean ${meant}?`} Commands: ${names.join(', ')}.`,
    nextStep: 'See: npm run -s signal -- help',
  })
}

/** The command that a line begins with: some names are one word, `replay`, some two, `keys create`. */
export function findCommand(commands: readonly Command[], words: readonly string[]) {
  for (const length of [2, 1]) {
    const command = commands.find(({ name }) => name === words.slice(0, length).join(' '))
    if (command !== undefined) return { command, args: words.slice(length) }
  }
  return undefined
}

/** Reads what follows a command's name. @throws ServiceError `config_invalid` */
export function readCommandLine(
  { name, flags, operands = [] }: Command,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): ReadFlags {
  const hint = `See: npm run -s signal -- help ${name}`
  const read = readFlags(flags, args, environment, hint)
  if (read.operands.length === operands.length) return read
  const wanted = operands.map((operand) => `<${operand}>`).join(' ')
  throw new ServiceError('config_invalid', {
    message: `${name} takes ${wanted === '' ? 'flags only' : wanted}, not ${JSON.stringify(read.operands.join(' '))}. ${hint}`,
  })
}

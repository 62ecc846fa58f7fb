import { readFileSync } from 'node:fs'
import { nearestName } from '../../contracts/did-you-mean.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { explainFailure } from '../composition/explain-failure.ts'
import { type ReadFlags, readFlags } from '../runtime/config/read-flags.ts'
import { loadCommand } from './commands.ts'
import HELP from './help.json' with { type: 'json' }
import { generalHelp, type HelpEntry } from './help.ts'
import { type Command, type CommandContext, operandShown } from './kit/command.ts'
import { visibleStream } from './kit/visible-text.ts'

/** The exit code that shells report after Ctrl-C. */
export const INTERRUPTED = 130

/**
 * Runs one command.
 *
 * @param args the command's name, then its flags.
 * @returns the exit code: 0, that of the error in the registry, or 130 after Ctrl-C.
 */
export async function runCommand(args: readonly string[], given: CommandContext): Promise<number> {
  const context = { ...given, stdout: visibleStream(given.stdout), stderr: visibleStream(given.stderr) }
  try {
    const code = await dispatch(args, context)
    return context.signal.aborted ? INTERRUPTED : code
  } catch (error) {
    if (context.signal.aborted) return INTERRUPTED
    // The reader of the output has enough: `replay | head`.
    if (isBrokenPipe(error)) return 0
    return explainFailure(error, context.stderr)
  }
}

async function dispatch(args: readonly string[], context: CommandContext): Promise<number> {
  const [name = 'help', ...rest] = args
  if (['help', '--help', '-h'].includes(name)) {
    context.stdout.write(rest.length === 0 ? generalHelp(HELP) : commandIn(rest).command.help)
    return 0
  }
  if (name === '--version') {
    const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
    const { version } = JSON.parse(file) as { readonly version: string }
    context.stdout.write(`${version}\n`)
    return 0
  }
  const { command: found, args: given } = commandIn(args)
  if (given.includes('--help') || given.includes('-h')) {
    context.stdout.write(found.help)
    return 0
  }
  const command = await loadCommand(found.name)
  const read = readCommandLine(command, given, context.environment)
  return (await command.run({ ...context, ...read })) ?? 0
}

function commandIn(args: readonly string[]): FoundCommand<HelpEntry> {
  const found = findCommand(HELP, args)
  if (found !== undefined) return found
  const [name = ''] = args
  const ofName = HELP.filter((one) => one.name.startsWith(`${name} `))
  const commands = ofName.length === 0 ? HELP : ofName
  const asked = ofName.length === 0 ? name : args.slice(0, 2).join(' ')
  const names = [...(ofName.length === 0 ? ['help'] : []), ...commands.map((one) => one.name)]
  const meant = nearestName(
    asked,
    commands.map((one) => one.name),
  )
  throw new ServiceError('config_invalid', {
    message: `There is no command ${JSON.stringify(asked)}.${meant === undefined ? '' : ` Did you mean ${meant}?`} Commands: ${names.join(', ')}.`,
    nextStep: 'See: npm run -s signal -- help',
  })
}

const isBrokenPipe = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EPIPE'

interface FoundCommand<Named> {
  readonly command: Named
  readonly args: readonly string[]
}

/**
 * The command that a line begins with: some names are one word, `replay`, some two, `keys create`.
 *
 * @returns undefined where there is none
 */
export function findCommand<Named extends Pick<Command, 'name'>>(
  commands: readonly Named[],
  [first = '', second, ...rest]: readonly string[],
): FoundCommand<Named> | undefined {
  const two = commands.find(({ name }) => name === `${first} ${second}`)
  if (two !== undefined) return { command: two, args: rest }
  const command = commands.find(({ name }) => name === first)
  return command && { command, args: second === undefined ? [] : [second, ...rest] }
}

/**
 * Reads what follows a command's name.
 *
 * @throws ServiceError `config_invalid`
 */
export function readCommandLine(
  { name, flags, operands = [] }: Command,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): ReadFlags {
  const names = Object.keys(flags)
  const all = names.length === 0 ? `${name} has no flags.` : `See: npm run -s signal -- help ${name}`
  const read = readFlags(flags, args, environment, all)
  const least = operands.filter((operand) => !operand.endsWith('?')).length
  if (read.operands.length >= least && read.operands.length <= operands.length) return read
  const wanted = operands.map(operandShown).join(' ')
  throw new ServiceError('config_invalid', {
    message: `${name} takes ${wanted === '' ? 'flags only' : wanted}, not ${JSON.stringify(read.operands.join(' '))}. ${all}`,
  })
}

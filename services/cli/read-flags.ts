import { parseArgs } from 'node:util'
import { ServiceError } from '../../contracts/errors.ts'
import type { Command, FlagDefinition, FlagDefinitions } from './command.ts'

export interface ReadFlags {
  readonly flags: Readonly<Record<string, unknown>>
  readonly texts: Readonly<Record<string, string>>
  readonly operands: readonly string[]
}

/**
 * Reads what stands behind a command's name. Where a flag has a variable, the flag wins; empty variables count as
 * absent.
 *
 * @throws ServiceError `config_invalid` that names the flag, what it was given and what there is.
 */
export function readFlags(
  command: Command,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): ReadFlags {
  const { values, positionals } = parse(command, args)
  if (positionals.length !== command.operands.length) {
    const wanted = command.operands.map((name) => `<${name}>`).join(' ')
    throw invalid(
      `${command.name} takes ${wanted === '' ? 'flags only' : wanted}, not ${JSON.stringify(positionals.join(' '))}. ${flagsOf(command)}`,
    )
  }
  const flags: Record<string, unknown> = {}
  const texts: Record<string, string> = {}
  for (const [name, definition] of Object.entries(command.flags)) {
    const { given, source } = givenText(name, definition, values, environment)
    flags[name] = readOne(definition, given, source)
    if (given !== undefined) texts[name] = given
  }
  return { flags, texts, operands: positionals }
}

function givenText(
  name: string,
  { alias, setting }: FlagDefinition,
  values: Readonly<Record<string, FlagText>>,
  environment: NodeJS.ProcessEnv,
): { given: string | undefined; source: string } {
  const [own, other] = [values[name], alias === undefined ? undefined : values[alias]]
  if (own !== undefined && other !== undefined) throw invalid(`--${name} and --${alias} are the same flag`)
  const flag = own ?? other
  if (flag !== undefined) return { given: flag.toString(), source: `--${own === undefined ? alias : name}` }
  return { given: (setting && environment[setting]) || undefined, source: setting ?? `--${name}` }
}

function readOne(
  { schema, example, isSecret }: FlagDefinition,
  given: string | undefined,
  source: string,
): unknown {
  const read = schema.safeParse(given)
  if (read.success) return read.data
  const problem = read.error.issues[0]?.message ?? 'not valid'
  if (given === undefined) throw invalid(`${source} is missing. For example: ${source} ${example}`)
  const value = isSecret === true ? '(not shown)' : JSON.stringify(given)
  throw invalid(`${source} is ${value}: ${problem}. For example: ${example}`)
}

function parse(
  command: Command,
  args: readonly string[],
): { values: Readonly<Record<string, FlagText>>; positionals: readonly string[] } {
  const options = Object.fromEntries(
    Object.entries<FlagDefinition>(command.flags).flatMap(([name, { alias, isSwitch }]) =>
      [name, ...(alias === undefined ? [] : [alias])].map((one) => [
        one,
        { type: isSwitch === true ? 'boolean' : 'string' } as const,
      ]),
    ),
  )
  try {
    const { tokens, ...read } = parseArgs({
      args: [...args],
      options,
      strict: true,
      allowPositionals: true,
      tokens: true,
    })
    // The last one would win in silence, and `--coin BTC --coin ETH` show half of what was asked for.
    const names = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
    const repeated = names.find((name, index) => names.indexOf(name) !== index)
    if (repeated !== undefined) {
      throw invalid(`--${repeated} is given twice; give it once, with commas where it takes a list`)
    }
    return read
  } catch (error) {
    if (error instanceof ServiceError) throw error
    const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    // The first sentence; what follows explains how to pass a value that looks like a flag.
    throw invalid(`${message.replace(/\. .*$/, '')}. ${flagsOf(command)}`)
  }
}

const flagsOf = ({ name, flags }: { name: string; flags: FlagDefinitions }): string => {
  const names = Object.keys(flags)
  return names.length === 0 ? `${name} has no flags` : `Flags: ${names.map((flag) => `--${flag}`).join(' ')}`
}

/** What `parseArgs` makes of a flag that is not given several times. */
type FlagText = string | boolean | undefined

const invalid = (message: string): ServiceError => new ServiceError('config_invalid', { message })

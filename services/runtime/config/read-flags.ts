import { parseArgs } from 'node:util'
import type { z } from 'zod'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { nearestName, problemOf } from '../../../contracts/infra/input-faults.ts'

/** How one flag is given, read and explained. */
export interface FlagDefinition<Schema extends z.ZodType = z.ZodType> {
  /** Reads its text; absent flags are `undefined`, so a schema may have a default. A switch reads `'true'`. */
  readonly schema: Schema
  /** Its effect and its default, for people. */
  readonly help: string
  /** A valid value, shown where another was refused. */
  readonly example: string
  /** Takes no value. */
  readonly isSwitch?: boolean
  /** Another name for it. */
  readonly alias?: string
  /** The environment variable that stands in for it. */
  readonly setting?: string
  /** Never shown. */
  readonly isSecret?: boolean
}

export type FlagDefinitions = Readonly<Record<string, FlagDefinition>>

export interface ReadFlags {
  readonly flags: Readonly<Record<string, unknown>>
  /** The flags as they were written, where they were. */
  readonly texts: Readonly<Record<string, string>>
  readonly operands: readonly string[]
}

/**
 * Reads flags and the variables that stand in for them. A flag wins; an empty variable counts as absent. `hint` says
 * where all flags are listed. @throws ServiceError `config_invalid`
 */
export function readFlags(
  definitions: FlagDefinitions,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  hint: string,
): ReadFlags {
  const { given, operands } = parse(definitions, args, hint)
  const flags: Record<string, unknown> = {}
  const texts: Record<string, string> = {}
  for (const [name, definition] of Object.entries(definitions)) {
    const { setting } = definition
    const flag = given.get(name)
    const text = flag?.text ?? ((setting && environment[setting]) || undefined)
    flags[name] = readOne(definition, text, flag?.written ?? setting ?? `--${name}`)
    if (text !== undefined) texts[name] = text
  }
  return { flags, texts, operands }
}

interface Given {
  readonly written: string
  readonly text: string
}

function parse(
  definitions: FlagDefinitions,
  args: readonly string[],
  hint: string,
): { given: ReadonlyMap<string, Given>; operands: readonly string[] } {
  const names = new Map(
    Object.entries(definitions).flatMap(([name, { alias }]) =>
      [name, ...(alias === undefined ? [] : [alias])].map((one) => [one, name] as const),
    ),
  )
  const options = Object.fromEntries(
    [...names].map(([one, name]) => [
      one,
      { type: definitions[name]?.isSwitch === true ? 'boolean' : 'string' } as const,
    ]),
  )
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  const given = new Map<string, Given>()
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const name = names.get(token.name)
    if (name === undefined) throw unknownFlag(token.rawName, names.keys(), hint)
    const { isSwitch, example } = definitions[name] as FlagDefinition
    const { rawName: written, value } = token
    if (isSwitch === true && value !== undefined) {
      throw invalid(`${written} takes no value`)
    }
    // A flag that follows at once is the next flag, and no value.
    if (isSwitch !== true && (value === undefined || (!token.inlineValue && value.startsWith('-')))) {
      throw invalid(`${written} has no value. For example: ${written} ${example}`)
    }
    const former = given.get(name)
    // The last one would win in silence, and `--coin BTC --coin ETH` show half of what was asked for.
    if (former !== undefined) {
      throw invalid(
        former.written === written
          ? `${written} is given twice; give it once, with commas where it takes a list`
          : `${former.written} and ${written} are the same flag; give it once`,
      )
    }
    given.set(name, { written, text: value ?? 'true' })
  }
  return { given, operands: tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : [])) }
}

function unknownFlag(written: string, names: Iterable<string>, hint: string): ServiceError {
  const meant = nearestName(written.replace(/^-+/, ''), names)
  return invalid(
    `There is no flag ${written}. ${meant === undefined ? hint : `Did you mean --${meant}? ${hint}`}`,
  )
}

/** Characters of a refused value that a message repeats: a page may have been pasted. */
const SHOWN_CHARACTERS = 200

function readOne(
  { schema, example, isSecret }: FlagDefinition,
  text: string | undefined,
  source: string,
): unknown {
  const read = schema.safeParse(text)
  if (read.success) return read.data
  if (text === undefined) throw invalid(`${source} is missing. For example: ${source} ${example}`)
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text
  const value = isSecret === true ? '(not shown)' : JSON.stringify(shown)
  throw invalid(`${source} is ${value}: ${firstReason(read.error.issues)}. For example: ${example}`)
}

/** The first issue, in the words of its member where a value could have been one of several. */
function firstReason(issues: readonly { message: string; code?: string; errors?: unknown }[]): string {
  const issue = issues[0]
  if (issue?.code === 'invalid_union' && Array.isArray(issue.errors)) {
    const last = issue.errors.at(-1) as typeof issues | undefined
    if (last !== undefined && last.length > 0) return firstReason(last)
  }
  return issue === undefined ? 'is not valid' : problemOf({ code: '', ...issue })
}

const invalid = (message: string): ServiceError => new ServiceError('config_invalid', { message })

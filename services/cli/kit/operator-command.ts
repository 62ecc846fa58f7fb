import type { z } from 'zod'
import type { FlagDefinitions } from '../../runtime/config/read-flags.ts'
import { type Command, type CommandInput, defineCommand } from './command.ts'
import {
  OPERATOR_FLAGS,
  OPERATOR_NOTE,
  type OperatorRequests,
  openOperatorRequests,
} from './operator-requests.ts'

/** A command that sends one request of the operator to a running service. */
export interface OperatorCommand<Flags extends FlagDefinitions>
  extends Pick<Command<Flags>, 'name' | 'summary' | 'examples'> {
  readonly notes?: readonly string[]
  /** Its argument beside flags, and how that is read. */
  readonly operand?: { readonly name: string; readonly read: (name: string, text: string) => string }
  readonly flags?: Flags
  /** Refuses flags that do not go together, before anything is asked. @throws ServiceError `config_invalid` */
  readonly check?: (flags: FlagsOf<Flags>, operand: string) => void
  /** @returns the output: a text, or rows, one JSON object a line */
  readonly act: (asked: Asked<Flags>) => Promise<string | undefined> | AsyncIterable<object>
}

type FlagsOf<Flags extends FlagDefinitions> = CommandInput<Flags & typeof OPERATOR_FLAGS>['flags']

interface Asked<Flags extends FlagDefinitions> extends Pick<CommandInput, 'stderr'> {
  readonly requests: OperatorRequests
  readonly flags: FlagsOf<Flags>
  /** Empty for a command without one. */
  readonly operand: string
}

export const operatorCommand = <const Flags extends FlagDefinitions>({
  notes = [],
  operand,
  flags,
  check,
  act,
  ...named
}: OperatorCommand<Flags>): Command<Flags & typeof OPERATOR_FLAGS> =>
  defineCommand({
    ...named,
    notes: [...notes, OPERATOR_NOTE],
    operands: operand === undefined ? [] : [operand.name],
    flags: { ...flags, ...OPERATOR_FLAGS } as Flags & typeof OPERATOR_FLAGS,
    async run(input) {
      const given = operand?.read(operand.name, input.operands[0] ?? '') ?? ''
      check?.(input.flags, given)
      const requests = await openOperatorRequests(input)
      const written = act({ requests, flags: input.flags, operand: given, stderr: input.stderr })
      if (!(Symbol.asyncIterator in written)) input.stdout.write((await written) ?? '')
      else for await (const row of written) input.stdout.write(`${JSON.stringify(row)}\n`)
      return undefined
    },
  })

/** The rows of all pages of a list. */
export async function* rowsOf<Page extends { readonly next: string | null }>(
  requests: OperatorRequests,
  path: string,
  schema: z.ZodType<Page>,
  rows: (page: Page) => readonly object[],
  query: Readonly<Record<string, string>> = {},
): AsyncGenerator<object, void, void> {
  for await (const page of requests.pages(path, query, schema)) yield* rows(page)
}

/** An answer as JSON where that is asked for, and else in words. */
export const shown = <Answer>(json: boolean, answer: Answer, words: (answer: Answer) => string): string =>
  json ? `${JSON.stringify(answer)}\n` : words(answer)

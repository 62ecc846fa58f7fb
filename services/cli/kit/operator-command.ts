import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import type { FlagDefinitions } from '../../runtime/config/read-flags.ts'
import { type Command, type CommandInput, defineCommand } from './command.ts'
import { switchFlag } from './common-flags.ts'
import { findService, SERVICE_FLAGS } from './find-service.ts'
import type { Service } from './service.ts'
import { answerWriter } from './show-answer.ts'

export const OPERATOR_NOTE =
  'It asks the service that runs on the data folder, through the socket that only its owner can open, or the one at --server.'

/** A command that sends one request of the operator to a running service. */
interface OperatorCommand<Flags extends FlagDefinitions>
  extends Pick<Command<Flags>, 'name' | 'summary' | 'examples'> {
  readonly notes?: readonly string[]
  /** Its argument beside flags: an id, where nothing else reads it. */
  readonly operand?: string
  readonly read?: (name: string, text: string) => string
  readonly flags?: Flags
  /** Fields that the table of a list shows. */
  readonly columns?: readonly string[]
  /** Refuses flags that do not go together, before anything is asked. @throws ServiceError `config_invalid` */
  readonly check?: (flags: FlagsOf<Flags>, operand: string) => void
  /** @returns the answer of the service, its pages of rows, or nothing where it said all on standard error */
  readonly act: (asked: Asked<Flags>) => Promise<object | void> | AsyncIterable<readonly object[]>
  /** The text of the answer for a script, where that is no JSON. */
  readonly text?: (answer: never) => string
}

type FlagsOf<Flags extends FlagDefinitions> = CommandInput<Flags & typeof SERVICE_FLAGS>['flags']

interface Asked<Flags extends FlagDefinitions> extends Pick<CommandInput, 'stderr'> {
  readonly requests: Service
  readonly flags: FlagsOf<Flags>
  /** Empty for a command without one. */
  readonly operand: string
}

const JSON_FLAG = { json: switchFlag('Writes JSON on a terminal too, one object a line.') }

export const operatorCommand = <const Flags extends FlagDefinitions>({
  notes = [],
  operand,
  read = requireId,
  flags,
  columns = [],
  check,
  act,
  text,
  ...named
}: OperatorCommand<Flags>): Command =>
  defineCommand({
    ...named,
    notes: [...notes, OPERATOR_NOTE],
    operands: operand === undefined ? [] : [operand],
    flags: { ...flags, ...JSON_FLAG, ...SERVICE_FLAGS } as unknown as Flags & typeof SERVICE_FLAGS,
    async run(input) {
      const given = operand === undefined ? '' : read(operand, input.operands[0] ?? '')
      check?.(input.flags, given)
      const requests = await findService(input)
      const answer = act({ requests, flags: input.flags, operand: given, stderr: input.stderr })
      const isJson = (input.flags as { json?: unknown }).json === true
      const writer = answerWriter(input.stdout, columns, isJson)
      if (Symbol.asyncIterator in answer) {
        for await (const page of answer) writer.rows(page)
        return
      }
      const found = await answer
      if (found === undefined) return
      if (text !== undefined && !isJson) input.stdout.write(text(found as never))
      else writer.one(found)
    },
  })

/** An argument that is an id. @throws ServiceError `config_invalid` */
export function requireId(what: string, text: string | undefined): string {
  const id = z.uuid().safeParse(text?.toLowerCase())
  if (id.success) return id.data
  throw new ServiceError('config_invalid', {
    message: `${what} is ${JSON.stringify(text ?? '')}, which is no UUID. For example: 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55`,
  })
}

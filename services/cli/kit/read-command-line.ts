import { ServiceError } from '../../../contracts/errors.ts'
import { type ReadFlags, readFlags } from '../../runtime/config/read-flags.ts'
import type { Command } from './command.ts'

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
  const all =
    names.length === 0 ? `${name} has no flags` : `Flags: ${names.map((flag) => `--${flag}`).join(' ')}`
  const read = readFlags(flags, args, environment, all)
  if (read.operands.length === operands.length) return read
  const wanted = operands.map((operand) => `<${operand}>`).join(' ')
  throw new ServiceError('config_invalid', {
    message: `${name} takes ${wanted === '' ? 'flags only' : wanted}, not ${JSON.stringify(read.operands.join(' '))}. ${all}`,
  })
}

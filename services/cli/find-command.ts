import type { Command } from './kit/command.ts'

/** A command, and the arguments after its name. */
export interface FoundCommand {
  readonly command: Command
  readonly args: readonly string[]
}

/**
 * The command that a line begins with: some names are one word, `replay`, some two, `keys create`.
 *
 * @returns undefined where there is none
 */
export function findCommand(
  commands: readonly Command[],
  [first = '', second, ...rest]: readonly string[],
): FoundCommand | undefined {
  const two = commands.find(({ name }) => name === `${first} ${second}`)
  if (two !== undefined) return { command: two, args: rest }
  const command = commands.find(({ name }) => name === first)
  return command && { command, args: second === undefined ? [] : [second, ...rest] }
}

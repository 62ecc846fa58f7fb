/**
 * Prints the help of a command and ends the process with 0 where `--help` is among its arguments. A command calls it before it
 * reads an argument or does any work.
 *
 * @param help one sentence of what the command does, an empty line, how it is called, and its flags
 */
export function answerHelp(help: string): void {
  if (!process.argv.slice(2).includes('--help')) return
  process.stdout.write(`${help}\n`)
  process.exit(0)
}

import { assert } from '../../contracts/assert.ts'
import type { Command } from './kit/command.ts'

/**
 * The commands by the first word of their names, in the order of the help. A file is loaded when one of its commands is
 * called: each brings much along.
 */
const FILES: Readonly<Record<string, () => Promise<readonly Command[]>>> = {
  ask: async () => [(await import('./analyst/ask.ts')).askCommand],
  replay: async () => [(await import('./analyst/replay.ts')).replayCommand],
  export: async () => [(await import('./analyst/export.ts')).exportCommand],
  backtest: async () => [(await import('./analyst/backtest.ts')).backtestCommand],
  verify: async () => [(await import('./analyst/verify.ts')).verifyCommand],
  audit: async () => [(await import('./analyst/audit.ts')).auditCommand],
  doctor: async () => [(await import('./operator/doctor.ts')).doctorCommand],
  log: () => ofOperator('log'),
  backup: async () => [(await import('./log/backup.ts')).backupCommand],
  restore: async () => [(await import('./log/restore.ts')).restoreCommand],
  store: async () => [(await import('./log/store-copy.ts')).storeCopyCommand],
  'sealing-key': async () => [(await import('./log/sealing-key.ts')).sealingKeyCommand],
  keys: () => ofOperator('keys'),
  accounts: () => ofOperator('accounts'),
  webhooks: () => ofOperator('webhooks'),
  payments: () => ofOperator('payments'),
}

const ofOperator = async (word: string): Promise<readonly Command[]> =>
  (await import('./operator/operator-commands.ts')).operatorCommands[word] ?? []

/** Every command; the help and `docs/commands.md` are generated from them. */
export const loadCommands = async (): Promise<readonly Command[]> =>
  (await Promise.all(Object.values(FILES).map((load) => load()))).flat()

/** @param name of a command that there is, whose first word names its file */
export async function loadCommand(name: string): Promise<Command> {
  const commands = await FILES[name.split(' ')[0] ?? '']?.()
  const command = commands?.find((one) => one.name === name)
  assert(command !== undefined, 'help.json names commands that there are', name)
  return command
}

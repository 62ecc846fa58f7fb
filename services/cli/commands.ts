import type { Command } from './kit/command.ts'

/**
 * The files of the commands by the first word of their names, in the order of the help. A file is loaded when one of its
 * commands is called: the engine and the stores take half of the memory of a command that needs neither.
 */
const FILES: Readonly<Record<string, () => Promise<{ readonly commands: readonly Command[] }>>> = {
  ask: () => import('./operator/operator-commands.ts'),
  replay: () => import('./analyst/replay.ts'),
  backtest: () => import('./analyst/backtest.ts'),
  verify: () => import('./analyst/verify.ts'),
  audit: () => import('./analyst/audit.ts'),
  doctor: () => import('./operator/doctor.ts'),
  backup: () => import('./log/backup.ts'),
  restore: () => import('./log/backup.ts'),
  store: () => import('./log/store-copy.ts'),
  'sealing-key': () => import('./log/sealing-key.ts'),
  keys: () => import('./operator/operator-commands.ts'),
  accounts: () => import('./operator/operator-commands.ts'),
  webhooks: () => import('./operator/operator-commands.ts'),
  payments: () => import('./operator/operator-commands.ts'),
}

/** Every command, or those of the file that a word belongs to. */
export async function loadCommands(word = ''): Promise<readonly Command[]> {
  const load = Object.hasOwn(FILES, word) ? FILES[word] : undefined
  const files =
    load === undefined ? await Promise.all(Object.values(FILES).map((one) => one())) : [await load()]
  return [...new Set(files.flatMap(({ commands }) => commands))]
}

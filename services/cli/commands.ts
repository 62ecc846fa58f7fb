import type { Command } from './kit/command.ts'

type Loaded = Promise<{ readonly commands: readonly Command[] }>
const operator = (): Loaded => import('./operator/operator-commands.ts')
const backup = (): Loaded => import('./log/backup.ts')

/**
 * The files of the commands by the first word of their names, in the order of the help. A file is loaded when one of its
 * commands is called: the engine and the stores take half of the memory of a command that needs neither.
 */
const FILES: Readonly<Record<string, () => Loaded>> = {
  ask: operator,
  replay: () => import('./analyst/replay.ts'),
  backtest: () => import('./analyst/backtest.ts'),
  verify: () => import('./analyst/verify.ts'),
  audit: () => import('./analyst/audit.ts'),
  doctor: () => import('./operator/doctor.ts'),
  backup,
  restore: backup,
  'sealing-key': backup,
  store: () => import('./log/store-copy.ts'),
  keys: operator,
  accounts: operator,
  webhooks: operator,
  payments: operator,
}

/** Every command, or those of the file that a word belongs to. */
export async function loadCommands(word = ''): Promise<readonly Command[]> {
  const load = Object.hasOwn(FILES, word) ? FILES[word] : undefined
  const files = await Promise.all(load === undefined ? Object.values(FILES).map((one) => one()) : [load()])
  return [...new Set(files.flatMap(({ commands }) => commands))]
}

import { accountCommands } from './accounts.ts'
import { archiveCommand } from './archive.ts'
import { askCommand } from './ask.ts'
import { auditCommand } from './audit.ts'
import { backtestCommand } from './backtest.ts'
import { backupCommand } from './backup.ts'
import type { Command } from './command.ts'
import { doctorCommand } from './doctor.ts'
import { exportCommand } from './export.ts'
import { keyCommands } from './keys.ts'
import { logFormatCommands } from './log-format.ts'
import { logOriginCommand } from './log-origin.ts'
import { modelCommands } from './models.ts'
import { paymentCommands } from './payments.ts'
import { replayCommand } from './replay.ts'
import { restoreCommand } from './restore.ts'
import { sealingKeyCommand } from './sealing-key.ts'
import { storeCopyCommand } from './store-copy.ts'
import { trackRecordCommand } from './track-record.ts'
import { verifyCommand } from './verify.ts'
import { webhookCommands } from './webhooks.ts'
import { witnessCommand } from './witness.ts'

/** Every command; its help and `docs/commands.md` are generated from it. */
export const COMMANDS: readonly Command[] = [
  askCommand,
  replayCommand,
  exportCommand,
  backtestCommand,
  verifyCommand,
  auditCommand,
  trackRecordCommand,
  doctorCommand,
  logOriginCommand,
  witnessCommand,
  backupCommand,
  restoreCommand,
  storeCopyCommand,
  archiveCommand,
  sealingKeyCommand,
  ...keyCommands,
  ...accountCommands,
  ...webhookCommands,
  ...modelCommands,
  ...logFormatCommands,
  ...paymentCommands,
]

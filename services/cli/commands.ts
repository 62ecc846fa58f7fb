import { askCommand } from './analyst/ask.ts'
import { auditCommand } from './analyst/audit.ts'
import { backtestCommand } from './analyst/backtest.ts'
import { exportCommand } from './analyst/export.ts'
import { listenCommand } from './analyst/listen.ts'
import { replayCommand } from './analyst/replay.ts'
import { trackRecordCommand } from './analyst/track-record.ts'
import { verifyCommand } from './analyst/verify.ts'
import type { Command } from './kit/command.ts'
import { archiveCommand } from './log/archive.ts'
import { backupCommand } from './log/backup.ts'
import { logFormatCommands } from './log/log-format.ts'
import { logOriginCommand } from './log/log-origin.ts'
import { restoreCommand } from './log/restore.ts'
import { sealingKeyCommand } from './log/sealing-key.ts'
import { storeCopyCommand } from './log/store-copy.ts'
import { witnessCommand } from './log/witness.ts'
import { accountCommands } from './operator/accounts.ts'
import { doctorCommand } from './operator/doctor.ts'
import { keyCommands } from './operator/keys.ts'
import { modelCommands } from './operator/models.ts'
import { paymentCommands } from './operator/payments.ts'
import { webhookCommands } from './operator/webhooks.ts'

/** Every command; its help and `docs/commands.md` are generated from it. */
export const COMMANDS: readonly Command[] = [
  askCommand,
  replayCommand,
  exportCommand,
  listenCommand,
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

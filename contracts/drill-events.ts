import { z } from 'zod'
import { defineEvent } from './event-definition.ts'

/** What a restore on trial found, as the command that made it reports it. */
export const backupDrillSchema = z.strictObject({
  takenAt: z.iso.datetime().describe('When the backup was taken'),
  position: z.int().positive().describe('Position of the newest event in the backup'),
  events: z.int().positive().describe('Events that were restored'),
  bytes: z.int().positive().describe('Size of the log that was restored'),
  seconds: z.number().nonnegative().describe('How long the restore and its comparison took'),
  treeSize: z.int().positive().describe('Entries of the transparency log that were hashed again'),
  root: z.string().length(44).describe('Their root, base64: the one that the log had signed'),
})

export type BackupDrill = z.infer<typeof backupDrillSchema>

export const BackupDrilled = defineEvent({
  type: 'BackupDrilled',
  stream: 'store-drills',
  summary:
    'A backup was restored on trial into a scratch folder. All its events were there, and the root of their transparency log was the one that had been signed.',
  data: backupDrillSchema,
})

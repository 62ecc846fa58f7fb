import { z } from 'zod'
import { defineSettings } from './setting-definition.ts'
import { path } from './setting-schemas.ts'

/** How the transparency log is signed. */
export const TRANSPARENCY_LOG_SETTINGS = defineSettings({
  LOG_ORIGIN: {
    schema: z
      .string()
      .regex(/^[^\s+]{1,200}$/, 'must be a name without blanks and plus signs')
      .optional(),
    help: 'Name under which the transparency log signs: an address without its scheme that no other log has. A new name begins a new log at the next start, as after a restore that lost entries (docs/proof.md). Default: the name that the log has; at first the host of PUBLIC_URL with /log, else signal-service/ and the id of the log.',
    example: 'signals.example.com/log',
  },
  LOG_KEYS: {
    schema: z.string().min(1).max(4_000).optional(),
    help: 'Keys that sign the transparency log, as in the file log.keys, with commas between them. Needed by each of several processes that share a log. Default: log.keys in the folder of the market, made on the first start.',
    isSecret: true,
    example: 'the lines of log.keys',
  },
  LOG_NEWEST: {
    schema: path.optional(),
    help: 'File for the newest checkpoint that was signed: on a disk that no backup of the log sets back. Default: newest-checkpoint in the folder of the market.',
    example: '/var/lib/signal/newest-checkpoint',
  },
})

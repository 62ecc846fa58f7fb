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
    help: 'Name under which the transparency log begins to sign: an address without its scheme, and nobody else’s. Once it has one, `signal log open-origin` changes it. Default: the host of PUBLIC_URL with /log, else signal-service/ and the id of the log.',
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

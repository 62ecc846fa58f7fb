import { z } from 'zod'
import { LIMITS } from '../../../contracts/limits.ts'
import { defineSettings } from './setting-definition.ts'
import { decimal } from './setting-schemas.ts'

/** How the transparency log is signed, watched and anchored. */
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
    schema: z.string().min(1).optional(),
    help: 'File for the newest checkpoint that was signed: on a disk that no backup of the log sets back. Default: newest-checkpoint in the folder of the market.',
    example: '/var/lib/signal/newest-checkpoint',
  },
  LOG_POLICY: {
    schema: z.string().min(1).optional(),
    help: 'File with the witnesses that cosign the transparency log, where they are asked, and how many are enough (C2SP tlog-policy). Default: none is asked.',
    example: '/var/lib/signal/witnesses.policy',
  },
  LOG_ANCHOR_MINUTES: {
    schema: decimal(/^\d{1,5}$/)
      .pipe(z.number().min(1).max(44_640))
      .optional(),
    help: 'The newest checkpoint of the transparency log is put on the chain this often, with a transaction of the wallet of X402_SETTLER_KEY, which pays its gas. Default: it is not.',
    example: '5',
  },
  LOG_CALENDARS: {
    schema: z
      .string()
      .transform((text) => text.split(',').map((one) => one.trim().replace(/\/+$/, '')))
      .pipe(z.array(z.httpUrl().or(z.url({ protocol: /^https?$/ }))).max(LIMITS.calendars))
      .optional(),
    help: 'Calendars of OpenTimestamps that stamp a checkpoint of the transparency log every hour, with commas between them. Default: none is asked.',
    example: 'https://a.pool.opentimestamps.org,https://b.pool.opentimestamps.org',
  },
})

import { z } from 'zod'
import { defineSettings } from './setting-definition.ts'

/** Keys that what is secret in the log is made and sealed with. */
export const KEY_SETTINGS = defineSettings({
  SEALING_KEY: {
    schema: z
      .string()
      .refine((text) => /^[A-Za-z0-9+/]{43}=$/.test(text), { message: 'must be 32 bytes in base64' })
      .optional(),
    help: 'Master key, 32 bytes in base64, from which the secrets of the store are derived. Needed with EVENTSTORE_URL. Default: made on the first start and kept in DATA_DIR.',
    isSecret: true,
    example: 'the output of: openssl rand -base64 32',
  },
  WRAPPING_KEYS: {
    schema: z.string().min(1).max(4_000).optional(),
    help: 'Keys that replace SEALING_KEY for what is personal, as in the file wrapping.keys, with commas between them, newest last; `next ` in front of one that is not used yet. Default: wrapping.keys in the folder of the market, where there is one.',
    isSecret: true,
    example: 'the lines of wrapping.keys',
  },
})

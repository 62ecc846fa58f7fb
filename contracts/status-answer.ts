import { z } from 'zod'
import { exchangeSchema } from './exchanges.ts'
import { count, instant } from './field-schemas.ts'
import { LIMITS } from './limits.ts'
import { positionSchema } from './position.ts'
import { MISSING_REASONS } from './verdicts-missing.ts'

export const INCIDENT_KINDS = ['log_end_lost', 'market_run', 'calls_withdrawn'] as const
export type IncidentKind = (typeof INCIDENT_KINDS)[number]

const incidentSchema = z.strictObject({
  at: instant.describe('When it was recorded'),
  from: instant.nullable().describe('Market time from which on it holds; null where it has none'),
  to: instant.nullable().describe('Market time until which it holds; null where it has none, or goes on'),
  events: count.nullable().describe('Events that were lost, where that is known'),
  subject: z.string().nullable().describe('Model and timeframe of calls that were withdrawn'),
})

/** The public status before it is signed. */
export const statusContentSchema = z.strictObject({
  notice: z.string(),
  as_of: instant,
  position: positionSchema.describe('The log is counted up to here'),
  service: z.strictObject({
    version: z.string().describe('Of the process that answers'),
    versions: z
      .array(z.strictObject({ version: z.string().nullable(), processes: count }))
      .nullable()
      .describe(
        'Releases of the processes that hold shared work, by their leases: a process that does none is not among them, and one of a release before this field has null. Null while the store is away',
      ),
    processes: count
      .nullable()
      .describe('Processes that hold shared work, by their leases; null while the store is away'),
  }),
  gaps: z
    .array(
      z.strictObject({
        exchange: exchangeSchema,
        bars: count.describe('Bars without a verdict since the log began'),
        reasons: z.partialRecord(z.enum(MISSING_REASONS), count),
        series_hours: z
          .number()
          .nonnegative()
          .describe('Market time without verdicts, summed over series, hours'),
        longest: z
          .strictObject({ hours: z.number().nonnegative(), from: instant, to: instant })
          .describe('The longest stretch of one series: the open of its first bar, the close of its last'),
        days: z
          .array(z.strictObject({ date: z.iso.date(), bars: count }))
          .describe('UTC days of such bars, newest first'),
      }),
    )
    .describe('By exchange; one without gaps is left out'),
  incidents: z
    .array(
      z.strictObject({
        kind: z.enum(INCIDENT_KINDS),
        count: count.describe('Since the log began'),
        newest: z.array(incidentSchema).describe('Newest first'),
      }),
    )
    .describe(
      'An end of the log that was lost; market time that a simulated market was run through; calls of a model that were withdrawn',
    ),
  backup: z
    .strictObject({
      taken_at: instant,
      position: count.describe('Position of the newest event in it'),
      age_hours: z.number().nonnegative(),
    })
    .nullable()
    .describe('The newest backup, as `signal backup` noted it beside the log; null where none is noted'),
  drill: z
    .strictObject({
      at: instant.describe('When the restore on trial was recorded'),
      backup_taken_at: instant.describe('When its backup was taken'),
      position: count.describe('Position of the newest event in it'),
      events: count,
      bytes: count.describe('Size of the log that was restored'),
      seconds: z.number().nonnegative(),
      tree_size: count.describe('Entries of the transparency log that were hashed again'),
      root: z.string().describe('Their root, base64; it was the signed one'),
    })
    .nullable()
    .describe('The newest backup that was restored on trial; null where none was'),
})

export const statusAnswerSchema = statusContentSchema.extend({
  note: z
    .string()
    .max(LIMITS.noteCharacters)
    .nullable()
    .describe(
      'All other fields as canonical JSON in one line, signed with the keys of the transparency log (C2SP signed-note); null from a process that does not have them',
    ),
})

export type StatusContent = z.infer<typeof statusContentSchema>
export type StatusAnswer = z.infer<typeof statusAnswerSchema>

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'

const day = z.iso.date()

const lineSchema = z.strictObject({
  server: z.enum(['KurrentDB', 'EventStoreDB', 'NATS', 'Redis', 'Valkey']),
  line: z.string(),
  image: z.string().regex(/^[a-z\d./-]+:\d+\.\d+\.\d+(?:-alpine)?$/),
  from: day,
  until: day,
  /** The decision that callers of this line go to another: `server line` of this table. */
  leaving: z.strictObject({ decided: day, successor: z.string() }).optional(),
  source: z.string().startsWith('https://'),
})

export type ServerLine = z.infer<typeof lineSchema>

/** The lines of servers that are supported, as `deploy/servers.yaml` has them. */
export const SERVER_LINES: readonly ServerLine[] = z
  .array(lineSchema)
  .parse(parse(readFileSync(join(import.meta.dirname, '../../deploy/servers.yaml'), 'utf8')))

/** Images of a server's lines, the newest first. */
export const imagesOf = (server: ServerLine['server']): string[] =>
  SERVER_LINES.filter((line) => line.server === server).map(({ image }) => image)

const WARNED_DAYS = 60

/** Lines whose support has ended on a day, or ends within sixty days of it and nobody decided which line follows. */
export const endingLines = (today: Date, lines = SERVER_LINES): ServerLine[] =>
  lines.filter(({ until, leaving }) => {
    const days = (Date.parse(until) - today.getTime()) / 86_400_000
    return days < (leaving === undefined ? WARNED_DAYS : 0)
  })

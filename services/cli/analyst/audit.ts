import { existsSync } from 'node:fs'
import { z } from 'zod'
import { barsAnswerSchema } from '../../../contracts/answers/bars.ts'
import { trackRecordAnswerSchema } from '../../../contracts/answers/track-record.ts'
import type { Candle } from '../../../contracts/domain/candle.ts'
import { countText, grouped } from '../../../contracts/domain/statistics.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { ERRORS, isServiceError, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { trackRecordRow } from '../../analyst/index.ts'
import { createRace } from '../../engine/index.ts'
import {
  type AuditReport,
  type AuditState,
  type AuditTools,
  audit,
  FRAUDS,
  type Fraud,
  faultyError,
  type LogSource,
  MOST_PROOF_BYTES,
  parseVkey,
  readBoundedFile,
  type Verifier,
} from '../../proof/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { writeWholeFile } from '../../runtime/sqlite/whole-file.ts'
import { barPages } from '../kit/bar-pages.ts'
import { type Command, defineCommand, flag, switchFlag } from '../kit/command.ts'
import { createProgressLine } from '../kit/output.ts'
import { openService, type Service } from '../kit/service.ts'

/** Verifier keys as an operator publishes them. */
export const VKEY_FLAG = flag(
  z
    .string()
    .transform((text) => {
      const keys = text.split(/[\s,]+/).filter((part) => part !== '')
      const read = keys.map((key) => parseVkey(key))
      return read.every((key) => key !== undefined) ? read : []
    })
    .refine((keys) => keys.length > 0, 'must be a verifier key, or several with commas between them')
    .optional(),
  'The verifier key of the log, from its operator and not from the log itself. Several with commas between them.',
  'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
)

/** @throws ServiceError `config_invalid` if there is none */
export function requireKeys(keys: readonly Verifier[] | undefined): readonly Verifier[] {
  if (keys !== undefined) return keys
  throw new ServiceError('config_invalid', {
    message:
      '--vkey is missing: without a key of the log, anything could be signed. The operator publishes it; /log/vkeys is only its own word.',
  })
}

/** @throws ServiceError `config_invalid` for a file that cannot be read, or holds something else */
export function readNote<Content = string>(
  file: string,
  contentOf: (text: string) => Content = (text) => text as Content,
): Content {
  try {
    return contentOf(readBoundedFile(file, MOST_PROOF_BYTES).toString())
  } catch (cause) {
    const message = `${file} cannot be read: ${reasonOf(cause)}. Restore it, or name another file`
    throw new ServiceError('config_invalid', { message, cause })
  }
}

/** Half a minute of waits: a service that starts again does not end an audit of hours. */
const TRIES = 7
/** The newest checkpoint lags the log by ten seconds at most. */
const SIGNED_WITHIN_MS = 10_000
const stateSchema = z.strictObject({ checkpoint: z.string(), seenAt: z.int().nonnegative() })

const auditCommand = defineCommand({
  name: 'audit',
  summary:
    'Checks a whole transparency log: signatures, history, completeness, models, outcomes, and the track record.',
  notes: [
    'It trusts nothing but the key: every figure is computed anew, outcomes from bars. Each finding is one line, and the exit code is then 18.',
    'It asks as fast as the service lets it: some 25,000 entries take about two seconds.',
    'Each audit keeps the signed checkpoint in a file for the next one, which finds a log that changed its past.',
  ],
  operands: ['url'],
  flags: {
    vkey: VKEY_FLAG,
    state: flag(
      z.string().min(1).optional(),
      'File that is kept from one audit of a log to the next. Default: signal-audit-NAME.json, with the name in the key.',
      'signal-audit-example.com_foo.json',
    ),
    checkpoint: flag(
      z.string().min(1).optional(),
      'A /log/checkpoint that you saved on an earlier day. The audit proves that the log only grew since then.',
      './checkpoint-2026-11-01',
    ),
    json: switchFlag('Writes the report as JSON.'),
  },
  examples: [
    'signal audit http://127.0.0.1:8402 --vkey example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
  ],
  async run(input) {
    const { operands, flags, stdout, stderr, signal, now } = input
    const keys = requireKeys(flags.vkey)
    const earlier = flags.checkpoint && readNote(flags.checkpoint)
    const seenAt = now()
    // Each log that is audited from one folder has its own state: the key names it. An auditor without it is easily fooled.
    const stateFile = flags.state ?? `signal-audit-${keys[0]?.name.replaceAll(/[^\w.-]+/g, '_')}.json`
    const readState = (text: string): AuditState => stateSchema.parse(JSON.parse(text))
    const seen = existsSync(stateFile) ? readNote(stateFile, readState) : undefined
    const progress = createProgressLine(input)
    let done = 'reading the track record'
    const onRetry = (why: string, waitMs: number): void =>
      progress.show(`${done}; waiting ${waitMs / 1_000} s: ${why}`)
    const [url = ''] = operands
    // An address at which nobody answers is not waited for as long as a service that has gone away.
    await serviceSource(openService({ url }, signal)).get('log/checkpoint')
    const source = serviceSource(openService({ url, tries: TRIES, onRetry }, signal))
    const untilSigned = (): Promise<void> => {
      stderr.write('waiting 10 s for a checkpoint of what the track record counts\n')
      return sleep(SIGNED_WITHIN_MS, signal)
    }
    const onProgress = (what: string, read: number, all: number): void => {
      done = `${what}: ${grouped(read)} of ${grouped(all)} read`
      progress.show(done)
    }
    const tools = auditTools(source, untilSigned)
    const report = await audit({ source, keys, earlier, seen, tools, onProgress })
    progress.end(`audited ${grouped(report.size)} entries`)
    stdout.write(flags.json ? `${JSON.stringify(report)}\n` : linesOf(report))
    // After a finding the evidence stays.
    if (report.findings.length > 0) return ERRORS.audit_failed.exitCode
    return writeWholeFile(stateFile, JSON.stringify({ checkpoint: report.checkpoint, seenAt }))
  },
})

export const commands: readonly Command[] = [auditCommand]

/** A log as a service serves it; bars that it does not have are not there. */
export const serviceSource = (service: Pick<Service, 'bytes'>): LogSource => ({
  get: (path) =>
    service.bytes(`/${path}`).catch((error: unknown) => {
      if (isServiceError(error, 'not_found') || isServiceError(error, 'market_data_missing')) return undefined
      throw error
    }),
})

/** Pages of a track record at most: twenty thousand rows, one for each model and series. */
const MOST_PAGES = 100
const publishedSchema = trackRecordAnswerSchema.pick({ rows: true, next: true })

/** Functions of other domains for an audit: the bars and the track record are those of a source. */
export function auditTools(
  source: LogSource,
  untilSigned = async (): Promise<void> => undefined,
): AuditTools {
  /** Undefined for what is not there. @throws ServiceError `proof_invalid` for another answer than the one of this service */
  async function answerAt<Schema extends z.ZodType>(path: string, query: object, schema: Schema) {
    const bytes = await source.get(`${path}?${new URLSearchParams({ ...query }).toString()}`)
    try {
      return bytes && schema.parse(JSON.parse(bytes.toString()))
    } catch (error) {
      throw faultyError(`/${path} answers otherwise than this service: ${reasonOf(error).slice(0, 200)}`)
    }
  }
  return {
    untilSigned,
    reported: trackRecordRow,
    async barsOf(series, from, to) {
      const bars: Candle[] = []
      const ask = (query: object) => answerAt('api/bars', query, barsAnswerSchema)
      for await (const page of barPages(series, { from, to }, ask)) {
        if (page === undefined) return undefined
        bars.push(...page.bars)
      }
      return bars
    },
    raceOf({ timeframe, barClose, validUntil, barrier }, bars) {
      const barMs = timeframeMs(timeframe)
      const race = createRace({ barClose, barMs, windowBars: (validUntil - barClose) / barMs, barrier })
      const last = bars.map((bar) => race.take(bar)).at(-1)
      return { ...(last ?? race.end()) }
    },
    async published(grouping) {
      const rows: JsonObject[] = []
      let query: object = { group_by: grouping }
      for (let pages = 0; pages < MOST_PAGES; pages++) {
        const page = await answerAt('api/track-record', query, publishedSchema)
        if (page === undefined) return undefined
        rows.push(...page.rows)
        if (page.next === null) return rows
        query = { group_by: grouping, after: page.next }
      }
      throw faultyError(`the track record has no end: it has more than ${MOST_PAGES} pages`)
    },
  }
}

function linesOf(report: AuditReport): string {
  const { origin, size, root, signatures, summary, recomputed, lacking, findings, counts, unchecked } = report
  const { verdicts, outcomes, hidden, models, late, missing } = summary
  const lines = [
    `log       ${origin}, ${size} entries, root ${root}`,
    `signed    by ${signatures.join(', ')}`,
    `checked   ${countText(verdicts, 'verdict')}, ${countText(outcomes, 'outcome')} (${recomputed} recomputed from bars), ${countText(models, 'model')}; ${hidden} entries are not shown yet`,
    `counted   ${late} verdicts are marked late, ${missing} bars have no verdict, ${lacking} outcomes lack bars that are there now`,
    ...unchecked.map((what) => `unchecked ${what}`),
    ...findings.map(({ fraud, index, message }) =>
      index === null ? `${fraud}  ${message}` : `${fraud}  entry ${index}: ${message}`,
    ),
    ...Object.entries(counts).map(
      ([fraud, count]) => `found     ${count} × ${fraud}: ${FRAUDS[fraud as Fraud]}`,
    ),
  ]
  if (findings.length === 0) lines.push('found     nothing: the log holds together')
  return `${lines.join('\n')}\n`
}

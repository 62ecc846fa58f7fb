import { existsSync } from 'node:fs'
import { z } from 'zod'
import { countText, grouped } from '../../../contracts/domain/statistics.ts'
import { ERRORS, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import {
  type AuditReport,
  type AuditState,
  audit,
  FRAUDS,
  type Fraud,
  MOST_PROOF_BYTES,
  parseVkey,
  readBoundedFile,
  type Verifier,
} from '../../proof/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { writeWholeFile } from '../../runtime/sqlite/whole-file.ts'
import { type Command, defineCommand, flag, switchFlag } from '../kit/command.ts'
import { createProgressLine } from '../kit/output.ts'
import { auditTools, serviceSource } from './audit-tools.ts'

/** Verifier keys as an operator publishes them. */
export const VKEY_FLAG = {
  schema: z
    .string()
    .transform((text) => text.split(/[\s,]+/).filter((part) => part !== ''))
    .refine(
      (parts) => parts.length > 0 && parts.every((part) => parseVkey(part) !== undefined),
      'must be a verifier key, or several with commas between them',
    )
    .optional(),
  help: 'The verifier key of the log, from its operator and not from the log itself. Several with commas between them.',
  example: 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
} as const

/** @throws ServiceError `config_invalid` if there is none */
export function requireKeys(vkeys: readonly string[] | undefined): Verifier[] {
  const keys = (vkeys ?? []).flatMap((vkey) => parseVkey(vkey) ?? [])
  if (keys.length > 0) return keys
  throw new ServiceError('config_invalid', {
    message:
      '--vkey is missing: without a key of the log, anything could be signed. The operator publishes it; /log/vkeys is only its own word.',
  })
}

/** @throws ServiceError `config_invalid` for a file that cannot be read */
export function readNote(file: string): string {
  try {
    return readBoundedFile(file, MOST_PROOF_BYTES).toString()
  } catch (cause) {
    throw new ServiceError('config_invalid', { message: `${file} cannot be read: ${reasonOf(cause)}`, cause })
  }
}

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
    // Each log that is audited from one folder has its own state: the key names it.
    const stateFile = flags.state ?? `signal-audit-${keys[0]?.name.replaceAll(/[^\w.-]+/g, '_')}.json`
    const seen = readState(stateFile)
    const progress = createProgressLine(input)
    let done = 'reading the track record'
    const source = serviceSource(operands[0] ?? '', {
      now,
      sleep,
      signal,
      onWait: (waitMs, why) => progress.show(`${done}; waiting ${waitMs / 1_000} s: ${why}`),
    })
    const report = await audit({
      source,
      keys,
      earlier,
      seen,
      tools: {
        ...auditTools(source),
        async untilSigned() {
          stderr.write('waiting 10 s for a checkpoint of what the track record counts\n')
          await sleep(SIGNED_WITHIN_MS, signal)
        },
      },
      onProgress(what, read, all) {
        done = `${what}: ${grouped(read)} of ${grouped(all)} read`
        progress.show(done)
      },
    })
    progress.end(`audited ${grouped(report.size)} entries`)
    const json = { ...report, signatures: signersOf(report) }
    stdout.write(flags.json ? `${JSON.stringify(json)}\n` : linesOf(report))
    // After a finding the evidence stays.
    if (report.findings.length > 0) return ERRORS.audit_failed.exitCode
    const state: AuditState = { checkpoint: report.checkpoint, seenAt }
    return writeWholeFile(stateFile, JSON.stringify(state))
  },
})

export const commands: readonly Command[] = [auditCommand]

const stateSchema = z.strictObject({ checkpoint: z.string(), seenAt: z.int().nonnegative() })

/** @throws ServiceError `config_invalid` for a file that holds no state: without its state an auditor is easily fooled */
function readState(file: string): AuditState | undefined {
  if (!existsSync(file)) return undefined
  try {
    return stateSchema.parse(JSON.parse(readNote(file)))
  } catch (error) {
    throw new ServiceError('config_invalid', {
      message: `the state of former audits ${file} cannot be read: ${reasonOf(error)}. Restore it, or name another file with --state`,
      cause: error,
    })
  }
}

/** The newest checkpoint lags the log by ten seconds at most. */
const SIGNED_WITHIN_MS = 10_000

const signersOf = ({ signatures }: AuditReport): string[] =>
  signatures.map(({ name, id }) => `${name}+${id.toString('hex')}`)

function linesOf(report: AuditReport): string {
  const { origin, size, root, summary, recomputed, lacking, findings, counts, unchecked } = report
  const { verdicts, outcomes, hidden, models, late, missing } = summary
  const lines = [
    `log       ${origin}, ${size} entries, root ${root}`,
    `signed    by ${signersOf(report).join(', ')}`,
    `checked   ${countText(verdicts, 'verdict')}, ${countText(outcomes, 'outcome')} (${recomputed} recomputed from bars), ${countText(models, 'model')}; ${hidden} entries are not shown yet`,
    ...unchecked.map((what) => `unchecked ${what}`),
    ...(late === 0 ? [] : [`late      ${late} verdicts are marked late, and count apart`]),
    ...(missing === 0 ? [] : [`missing   ${missing} bars without a verdict`]),
    ...(lacking === 0 ? [] : [`lacking   ${lacking} outcomes lack bars that are there now`]),
    ...findings.map(
      ({ fraud, index, message }) => `${fraud}  ${index === null ? '' : `entry ${index}: `}${message}`,
    ),
    ...Object.entries(counts).map(
      ([fraud, count]) => `found     ${count} × ${fraud}: ${FRAUDS[fraud as Fraud]}`,
    ),
    ...(findings.length === 0 ? ['found     nothing: the log holds together'] : []),
  ]
  return `${lines.join('\n')}\n`
}

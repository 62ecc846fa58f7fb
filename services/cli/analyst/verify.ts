import { barsAnswerSchema } from '../../../contracts/answers/bars.ts'
import {
  type ProofEvent,
  type Verification,
  verificationSchema,
} from '../../../contracts/answers/verification.ts'
import { outcomeSchema } from '../../../contracts/domain/outcome.ts'
import { likelierBarrier, verdictSchema } from '../../../contracts/domain/verdict.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { canonicalJson } from '../../../contracts/infra/json.ts'
import { eventHash } from '../../analyst/index.ts'
import { checkProof, type Verifier } from '../../proof/index.ts'
import { barPages } from '../kit/bar-pages.ts'
import { type Command, type CommandInput, defineCommand, requireId, switchFlag } from '../kit/command.ts'
import { findService, SERVICE_FLAGS } from '../kit/service.ts'
import { readNote, requireKeys, VKEY_FLAG } from './audit.ts'
import { recomputeVerdict } from './recompute-verdict.ts'

const verifyCommand = defineCommand({
  name: 'verify',
  summary: 'Shows a recorded verdict with its outcome, and checks the hashes.',
  notes: [
    'The hashes are computed here from the data of the log, so that a service cannot show other data than it hashed.',
  ],
  operands: ['verdict_id_or_proof'],
  flags: {
    proof: switchFlag('Checks a proof file instead, offline, with nothing but --vkey.'),
    recompute: switchFlag('Computes the verdict again from its bars, and compares to the last bit.'),
    vkey: VKEY_FLAG,
    json: switchFlag('Writes the whole verification as JSON.'),
    ...SERVICE_FLAGS,
  },
  examples: [
    'signal verify 5c146b14-3c52-8afd-938a-375d0df1fbf6 --recompute',
    'signal verify 5c146b14-3c52-8afd-938a-375d0df1fbf6',
    'signal verify --proof verdict.tlog-proof --vkey example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
  ],
  async run(input) {
    const { operands, flags, stdout } = input
    if (flags.proof) return verifyProof(operands[0] ?? '', requireKeys(flags.vkey), input)
    const path = `/verify/${requireId('verdict_id', operands[0])}`
    const service = await findService(input)
    const verification = await service.get(path, { format: 'json' }, verificationSchema)
    requireHash('verdict', verification)
    if (verification.outcome !== null) requireHash('outcome', verification.outcome)
    stdout.write(flags.json ? `${JSON.stringify(verification)}\n` : linesOf(verification))
    if (!flags.recompute) return
    const verdict = verdictSchema.parse(verification.event.data)
    const period = { from: verdict.anchorBar, to: verdict.barClose }
    const pages = barPages(verdict, period, (query) => service.get('/api/bars', query, barsAnswerSchema))
    const { bars, differences } = await recomputeVerdict(verdict, pages)
    for (const { field, recorded, recomputed } of differences)
      stdout.write(
        `differs   ${field}: ${canonicalJson(recorded)} was recorded, ${canonicalJson(recomputed)} comes out\n`,
      )
    if (differences.length > 0)
      throw new ServiceError('proof_invalid', {
        message: `${differences.length} fields of the verdict come out otherwise from ${bars} bars.`,
        nextStep:
          'Compare the bars with those of the venue: GET /api/bars says where they come from, and which are missing.',
      })
    stdout.write(`computed  again from ${bars} bars: the same to the last bit\n`)
  },
})

export const commands: readonly Command[] = [verifyCommand]

/** Checks a proof file; asks nobody. */
function verifyProof(file: string, keys: readonly Verifier[], { flags, stdout }: CommandInput): void {
  const { content, origin, index, size, signatures: signed } = checkProof(readNote(file), keys)
  if (flags.json === true)
    return void stdout.write(`${JSON.stringify({ event: content, origin, index, size, signed })}\n`)
  stdout.write(`event     ${content.type} ${content.id}
says      ${canonicalJson(content.data)}
entry     ${index} of ${origin}, in its tree of ${size}
signed    by ${signed.join(', ')}
checked   the event hashes to the entry, the entry leads to the root, the root is signed
unchecked that the log has no other history: \`signal audit\` compares it with what it was
`)
}

function requireHash(
  what: string,
  { event, hash }: { readonly event: ProofEvent; readonly hash: string },
): void {
  const computed = eventHash({ ...event, meta: { correlationId: 'verify', actor: 'verify' } })
  if (computed === hash) return
  throw new ServiceError('proof_invalid', {
    message: `the ${what} does not fit its hash: ${hash} was said, ${computed} comes out`,
  })
}

function linesOf(verification: Verification): string {
  const { verdict_id, event, hash, window_closes_at, recorded_note, outcome, notice } = verification
  const verdict = verdictSchema.parse(event.data)
  const { exchange, coin, timeframe, call, confidence, probability, regime, price, reasoning } = verdict
  const race = outcome && `${outcomeSchema.parse(outcome.event.data).race}, labelled at ${outcome.event.at}`
  return `verdict   ${verdict_id}
series    ${exchange} ${coin} ${timeframe}
said      ${call}, ${confidence} % that the ${likelierBarrier(probability)} barrier comes first, ${regime} at ${price}
because   ${reasoning}
recorded  ${event.at}, at position ${event.position} (revision ${event.revision} of ${event.stream})
${recorded_note === null ? '' : `note      ${recorded_note}\n`}window    closes at ${window_closes_at}
outcome   ${race ?? 'none yet'}
hash      ${hash} fits
${notice}
`
}

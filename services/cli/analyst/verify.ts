import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { canonicalJson } from '../../../contracts/json.ts'
import { outcomeSchema } from '../../../contracts/outcome.ts'
import { likelierBarrier, verdictSchema } from '../../../contracts/verdict.ts'
import { type ProofEvent, type Verification, verificationSchema } from '../../../contracts/verification.ts'
import { eventHash } from '../../analyst/index.ts'
import { checkProof, type Verifier } from '../../proof/index.ts'
import { barsOf } from '../kit/bar-pages.ts'
import { type CommandInput, defineCommand } from '../kit/command.ts'
import { switchFlag } from '../kit/common-flags.ts'
import { findService, SERVICE_FLAGS } from '../kit/find-service.ts'
import { readNote, requireKeys, VKEY_FLAG } from './audit.ts'
import { recomputeVerdict } from './recompute-verdict.ts'

export const verifyCommand = defineCommand({
  name: 'verify',
  summary: 'Shows a recorded verdict with its outcome, and checks the hashes.',
  notes: [
    'The hashes are computed here from the data of the log, so that a service cannot show other data than it hashed.',
  ],
  operands: ['verdict_id_or_proof'],
  flags: {
    proof: switchFlag('Checks a proof file instead, offline, with nothing but --vkey.'),
    recompute: switchFlag('Computes the verdict again from its bars, and compares to the last bit.'),
    vkey: { ...VKEY_FLAG, schema: VKEY_FLAG.schema.optional() },
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
    if (flags.proof) {
      verifyProof(operands[0] ?? '', requireKeys(flags.vkey), input)
      return
    }
    const verdictId = z.uuid().safeParse(operands[0]?.toLowerCase())
    if (!verdictId.success) {
      throw new ServiceError('config_invalid', {
        message: `verdict_id is ${JSON.stringify(operands[0])}, which is no UUID. For example: 5c146b14-3c52-8afd-938a-375d0df1fbf6`,
      })
    }
    const service = await findService(input)
    const asked = { format: 'json' }
    const verification = await service.get(`/verify/${verdictId.data}`, asked, verificationSchema)
    requireHash('verdict', verification)
    if (verification.outcome !== null) requireHash('outcome', verification.outcome)
    stdout.write(flags.json ? `${JSON.stringify(verification)}\n` : linesOf(verification))
    if (!flags.recompute) return
    const verdict = verdictSchema.parse(verification.event.data)
    const { anchorBar: from, barClose: to } = verdict
    const found = await recomputeVerdict(verdict, barsOf(service, verdict, { from, to }))
    for (const { field, recorded, recomputed } of found.differences)
      stdout.write(
        `differs   ${field}: ${canonicalJson(recorded)} was recorded, ${canonicalJson(recomputed)} comes out\n`,
      )
    if (found.differences.length > 0) throw differs(found.differences.length, found.bars)
    stdout.write(`computed  again from ${found.bars} bars: the same to the last bit\n`)
  },
})

const differs = (fields: number, bars: number): ServiceError =>
  new ServiceError('proof_invalid', {
    message: `${fields} fields of the verdict come out otherwise from ${bars} bars.`,
    nextStep:
      'Compare the bars with those of the venue: GET /api/bars says where they come from, and which are missing.',
  })

/** Checks a proof file; asks nobody. */
function verifyProof(file: string, keys: readonly Verifier[], { flags, stdout }: CommandInput): void {
  const proven = checkProof(readNote(file), keys)
  const { content, origin, index, size, signatures } = proven
  const by = signatures.map(({ name, id }) => `${name}+${id.toString('hex')}`)
  const lines = [
    `event     ${content.type} ${content.id}`,
    `says      ${canonicalJson(content.data)}`,
    `entry     ${index} of ${origin}, in its tree of ${size}`,
    `signed    by ${by.join(', ')}`,
    'checked   the event hashes to the entry, the entry leads to the root, the root is signed',
    'unchecked that the log has no other history: `signal audit` compares it with what it was',
  ]
  stdout.write(
    flags.json === true
      ? `${JSON.stringify({ event: content, origin, index, size, signed: by })}\n`
      : `${lines.join('\n')}\n`,
  )
}

function requireHash(
  what: string,
  { event, hash }: { readonly event: ProofEvent; readonly hash: string },
): void {
  const computed = eventHash({ ...event, meta: { correlationId: 'verify', actor: 'verify' } })
  if (computed === hash) return
  throw new ServiceError('internal_error', {
    message: `the ${what} does not fit its hash: ${hash} was said, ${computed} comes out`,
  })
}

function linesOf({
  verdict_id,
  event,
  hash,
  window_closes_at,
  recorded_note,
  outcome,
  notice,
}: Verification): string {
  const verdict = verdictSchema.parse(event.data)
  const { exchange, coin, timeframe, call, confidence, probability, regime, price, reasoning } = verdict
  const ending =
    outcome === null
      ? 'none yet'
      : `${outcomeSchema.parse(outcome.event.data).race}, labelled at ${outcome.event.at}`
  const lines = [
    `verdict   ${verdict_id}`,
    `series    ${exchange} ${coin} ${timeframe}`,
    `said      ${call}, ${confidence} % that the ${likelierBarrier(probability)} barrier comes first, ${regime} at ${price}`,
    `because   ${reasoning}`,
    `recorded  ${event.at}, at position ${event.position} (revision ${event.revision} of ${event.stream})`,
    ...(recorded_note === null ? [] : [`note      ${recorded_note}`]),
    `window    closes at ${window_closes_at}`,
    `outcome   ${ending}`,
    `hash      ${hash} fits`,
    notice,
  ]
  return `${lines.join('\n')}\n`
}

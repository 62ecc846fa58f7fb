import { faultyError, openCheckpoint } from '../notes/checkpoint.ts'
import type { Verifier } from '../notes/note-keys.ts'
import { rootOf, subtreesOf } from '../tree/merkle.ts'
import { cosignersOn } from '../witnesses/cosigner.ts'
import type { Policy } from '../witnesses/policy.ts'
import type { Findings } from './finding.ts'
import type { ReadLog } from './read-log.ts'
import type { Trace } from './traces.ts'

/**
 * Checks that enough witnesses have cosigned the history that is shown here.
 *
 * @returns their keys, and a trace of the tree that they cosigned
 * @throws ServiceError `proof_invalid` where too few have cosigned anything
 */
export function checkCosigned(
  note: string | undefined,
  options: {
    readonly log: ReadLog
    readonly keys: readonly Verifier[]
    readonly policy: Policy
    readonly findings: Findings
  },
): { readonly cosigners: readonly Verifier[]; readonly trace: Trace } {
  const { log, keys, policy, findings } = options
  if (note === undefined) throw faultyError('no witness has cosigned it')
  const { origin, size, root } = openCheckpoint(note, keys).checkpoint
  const witnesses = policy.witnesses.map(({ verifier }) => verifier)
  const cosigners = cosignersOn(note, policy)
  if (!policy.isMet(cosigners))
    throw faultyError('the witnesses that have cosigned it are not enough for the policy')
  const isOfTree =
    origin === log.checkpoint.origin &&
    size <= log.checkpoint.size &&
    rootOf(subtreesOf(log.leaves), size).equals(root)
  if (!isOfTree)
    findings.add(
      'second_history',
      null,
      `witnesses have cosigned a tree of ${size} of ${origin} that is not its beginning`,
    )
  const times = openCheckpoint(note, witnesses).signatures.map(({ time = Number.POSITIVE_INFINITY }) => time)
  const at = Math.min(...times) * 1_000
  return { cosigners, trace: { size, at, by: 'a cosignature', isNewest: true } }
}

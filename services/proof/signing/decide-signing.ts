import { assert } from '../../../contracts/assert.ts'
import type { CheckpointRow, LogKeysRow } from '../../../projections/index.ts'
import type { Checkpoint } from '../notes/checkpoint.ts'
import type { Hash } from '../tree/merkle.ts'

/** The facts that decide the next step of a signer. */
export interface SigningState {
  readonly keys: LogKeysRow | undefined
  /** Newest of the log. */
  readonly newest: CheckpointRow | undefined
  /** The newest checkpoint that was ever seen, kept outside the log. */
  readonly kept: Checkpoint | undefined
  readonly size: number
  readonly root: (size: number) => Hash
  /** The verifier keys that this process signs with, for an origin. */
  readonly vkeysFor: (origin: string) => readonly string[]
  /** The name of a log that has none yet. */
  readonly firstOrigin: string
  /** Whether other processes share the log: then a process without a kept checkpoint may simply be new. */
  readonly isShared: boolean
}

export type SigningStep =
  | {
      readonly kind: 'publish'
      readonly origin: string
      readonly vkeys: readonly string[]
      readonly reason: string
    }
  | { readonly kind: 'sign'; readonly checkpoint: Checkpoint }
  | { readonly kind: 'wait' }
  | { readonly kind: 'refuse'; readonly why: string }

const OPEN_ORIGIN = 'or open a new origin with `signal log open-origin`'

/** Decides the next step. It refuses wherever a signature could contradict an earlier one. */
export function decideSigning(state: SigningState): SigningStep {
  const { keys, newest, kept, size } = state
  if (keys === undefined) {
    if (kept !== undefined) return notExtended(kept, 'it holds no keys and no checkpoint')
    const origin = state.firstOrigin
    return { kind: 'publish', origin, vkeys: state.vkeysFor(origin), reason: 'first keys' }
  }
  const { origin } = keys
  const ours = state.vkeysFor(origin)
  const shared = ours.filter((vkey) => keys.vkeys.includes(vkey))
  if (shared.length === 0)
    return refuse(
      `the keys of this process are none of those that the log has published; restore them, ${OPEN_ORIGIN}`,
    )
  if (shared.length < ours.length || shared.length < keys.vkeys.length)
    return { kind: 'publish', origin, vkeys: ours, reason: 'keys changed' }
  const fault = contradiction(state, keys)
  if (fault !== undefined) return fault
  if (size === 0 || (newest?.origin === origin && size <= newest.size)) return { kind: 'wait' }
  assert(newest?.origin !== origin || size > newest.size, 'a log signs only trees that have grown', size)
  assert(
    kept?.origin !== origin || size >= kept.size,
    'a signed tree holds the newest checkpoint that was seen',
    size,
  )
  return { kind: 'sign', checkpoint: { origin, size, root: state.root(size) } }
}

/** Finds where the tree of this process does not extend an earlier checkpoint. */
function contradiction(state: SigningState, keys: LogKeysRow): SigningStep | undefined {
  const { newest, kept, size, root } = state
  if (newest !== undefined && newest.origin === keys.origin) {
    // Another process has signed more; this one still has to fold it.
    if (newest.size > size) return { kind: 'wait' }
    if (root(newest.size).toString('base64') !== newest.root)
      return refuse(
        `the tree differs from the checkpoint at ${newest.size} that this log has signed; ${OPEN_ORIGIN}`,
      )
  }
  if (kept === undefined) {
    if (newest === undefined || newest.origin !== keys.origin || state.isShared) return undefined
    return refuse(
      `the log has signed checkpoints, and the newest one that was kept beside it is missing, as after a restore: put it back, ${OPEN_ORIGIN}`,
    )
  }
  if (kept.origin !== keys.origin) {
    const { leaves } = keys
    const isLeft = leaves?.origin === kept.origin && leaves.root === kept.root.toString('base64')
    return isLeft ? undefined : notExtended(kept, `its origin is ${keys.origin} now`)
  }
  if (kept.size > size) return notExtended(kept, `it has ${size} entries`)
  if (!root(kept.size).equals(kept.root)) return notExtended(kept, 'its entries are others')
  return undefined
}

const refuse = (why: string): SigningStep => ({ kind: 'refuse', why })

const notExtended = ({ origin, size }: Checkpoint, why: string): SigningStep =>
  refuse(
    `the log does not extend the newest checkpoint that was seen, of ${origin} at ${size}: ${why}. Bring back the log that does, ${OPEN_ORIGIN}`,
  )

import { assert } from '../../../contracts/errors/assert.ts'
import type { EventOf } from '../../../contracts/events/event-definition.ts'
import type { LogKeysPublished } from '../../../contracts/events/proof-events.ts'
import type { CheckpointRow, LogKeysRow } from '../../../projections/index.ts'
import type { Checkpoint } from '../note.ts'
import type { Hash } from '../tree/merkle.ts'

/** The facts that decide the next step of a signer. */
export interface SigningState {
  readonly keys: LogKeysRow | undefined
  readonly newest: CheckpointRow | undefined
  /** The newest checkpoint that was ever seen, kept outside the log. */
  readonly kept: Checkpoint | undefined
  readonly size: number
  readonly root: (size: number) => Hash
  /** The verifier keys that this process signs with, for an origin. */
  readonly vkeysFor: (origin: string) => readonly string[]
  /** The name of the log in the settings. */
  readonly origin: string | undefined
  /** The name of a log that has none yet, without that setting. */
  readonly firstOrigin: string
  /** Whether other processes share the log: then a process without a kept checkpoint may simply be new. */
  readonly isShared: boolean
}

export type SigningStep =
  | { readonly kind: 'publish'; readonly keys: EventOf<typeof LogKeysPublished>['data'] }
  | { readonly kind: 'sign'; readonly checkpoint: Checkpoint }
  | { readonly kind: 'wait' }
  /** The reason, as everybody may read it. */
  | { readonly kind: 'refuse'; readonly why: string }

/** Decides the next step. It refuses wherever a signature could contradict an earlier one. */
export function decideSigning(state: SigningState): SigningStep {
  const { keys, newest, kept, size, origin: named } = state
  const former = keys?.origin ?? kept?.origin
  if (named !== undefined && former !== undefined && named !== former)
    return beginOrigin(state, named, former)
  if (keys === undefined) {
    if (kept !== undefined) return notExtended(kept, 'it holds no keys and no checkpoint')
    return publish(state, named ?? state.firstOrigin, 'first keys')
  }
  const { origin } = keys
  const ours = state.vkeysFor(origin)
  const shared = ours.filter((vkey) => keys.vkeys.includes(vkey))
  if (shared.length === 0) return refuse('the log has published none of the keys of this process')
  if (shared.length < ours.length || shared.length < keys.vkeys.length)
    return publish(state, origin, 'keys changed')
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

const publish = (
  { vkeysFor }: SigningState,
  origin: string,
  reason: string,
  leaves: EventOf<typeof LogKeysPublished>['data']['leaves'] = null,
): SigningStep => ({ kind: 'publish', keys: { origin, vkeys: [...vkeysFor(origin)], reason, leaves } })

/** Another name in the settings begins a new log: its first keys name the newest checkpoint that it does not continue. */
function beginOrigin(state: SigningState, origin: string, former: string): SigningStep {
  const { keys, newest, kept } = state
  if (keys?.published.some((vkey) => vkey.startsWith(`${origin}+`)))
    return refuse(`LOG_ORIGIN is ${origin}, which this log had before ${former}`)
  const head = kept === undefined ? newest : { ...kept, root: kept.root.toString('base64') }
  const leaves = head === undefined ? null : { origin: head.origin, size: head.size, root: head.root }
  const otherwise = decideSigning({ ...state, origin: undefined })
  return publish(state, origin, otherwise.kind === 'refuse' ? otherwise.why : 'LOG_ORIGIN changed', leaves)
}

/** Finds where the tree of this process does not extend an earlier checkpoint. */
function contradiction(state: SigningState, keys: LogKeysRow): SigningStep | undefined {
  const { newest, kept, size, root } = state
  if (newest !== undefined && newest.origin === keys.origin) {
    // Another process has signed more; this one still has to fold it.
    if (newest.size > size) return { kind: 'wait' }
    if (root(newest.size).toString('base64') !== newest.root)
      return refuse(`the tree differs from the checkpoint at ${newest.size} that this log signed`)
  }
  if (kept === undefined) {
    if (newest === undefined || newest.origin !== keys.origin || state.isShared) return undefined
    return refuse(
      'the log has signed checkpoints, and the newest one that was kept beside it is missing, as after a restore',
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
  refuse(`the log does not extend the newest checkpoint that was seen, of ${origin} at ${size}: ${why}`)

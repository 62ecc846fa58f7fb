import { type Bytes, fromBase64, isSame, joined, sha256, toHex, utf8 } from './bytes.ts'
import { SignalRefusal } from './refusal.ts'

/** The content of a proof: an event that a log holds, by a signature of its keeper. */
export interface Proven {
  readonly content: {
    readonly id: string
    readonly type: string
    readonly schema: number
    readonly data: Readonly<Record<string, unknown>>
  }
  readonly origin: string
  readonly index: number
  readonly size: number
}

const ED25519 = 1
const KINDS: Readonly<Record<string, number>> = {
  LogBegun: 0,
  VerdictRecorded: 1,
  OutcomeLabelled: 2,
  ModelAnnounced: 4,
  MonitoringChanged: 5,
  LogKeysPublished: 7,
  DaySealed: 8,
}
const HASH_BYTES = 32
const MOST_CHARACTERS = 4_000_000
const MOST_HASHES = 63

/**
 * Checks a proof file (C2SP tlog-proof) as `/log/proof/` answers it, with nothing but keys: the event in it is the entry at its
 * index, of a tree whose root one of the keys has signed with Ed25519.
 *
 * @param vkeys lines of `/log/vkeys`, kept from a time when they were trusted; of other types they are passed over
 * @throws SignalRefusal `proof_invalid`
 */
export async function checkProof(file: string, vkeys: readonly string[]): Promise<Proven> {
  const { index, path, text, note } = parse(file)
  const { origin, size, root } = await openCheckpoint(note, vkeys)
  const content = contentOf(text)
  let hash = await sha256(joined(Uint8Array.of(0), await entryOf(content, text)))
  let [at, last] = [index, size - 1]
  if (index >= size) throw invalid('its index is not in the tree')
  for (const sibling of path) {
    if (last === 0) throw invalid('it has more hashes than the tree is deep')
    const isRight = at % 2 === 1 || at === last
    hash = await sha256(joined(Uint8Array.of(1), ...(isRight ? [sibling, hash] : [hash, sibling])))
    if (isRight) while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)]
    ;[at, last] = [half(at), half(last)]
  }
  if (last !== 0 || !isSame(hash, root))
    throw invalid(`the event is not entry ${index} of the tree of ${size}`)
  return { content, origin, index, size }
}

const half = (value: number): number => Math.floor(value / 2)

function parse(file: string) {
  const end = file.indexOf('\n\n')
  const [first, ...lines] = file.slice(0, Math.max(0, end)).split('\n')
  if (file.length > MOST_CHARACTERS || end < 0 || first !== 'c2sp.org/tlog-proof@v1')
    throw invalid('it is no proof file')
  const extra = /^extra (\S+)$/.exec(lines.shift() ?? '')?.[1]
  const index = /^index (0|[1-9]\d{0,15})$/.exec(lines.shift() ?? '')?.[1]
  const content = fromBase64(extra ?? '')
  const path = lines.map((line) => fromBase64(line))
  const isSound =
    path.every((hash): hash is Bytes => hash?.length === HASH_BYTES) && path.length <= MOST_HASHES
  if (extra === undefined || content === undefined || index === undefined || !isSound)
    throw invalid('a line of it is damaged')
  return { index: Number(index), path, text: new TextDecoder().decode(content), note: file.slice(end + 2) }
}

/** The root of a tree, where one of the keys has signed it and no known one has signed something else. */
async function openCheckpoint(note: string, vkeys: readonly string[]) {
  const end = note.lastIndexOf('\n\n')
  const text = note.slice(0, end + 1)
  const [origin = '', size = '', base64 = ''] = text.split('\n')
  const root = fromBase64(base64)
  if (end < 0 || origin === '' || !/^[1-9]\d{0,15}$/.test(size) || root?.length !== HASH_BYTES)
    throw invalid('it holds no checkpoint')
  let signatures = 0
  for (const line of note.slice(end + 2).split('\n')) {
    const [, name, signature] = /^— (\S+) (\S+)$/.exec(line) ?? []
    const bytes = fromBase64(signature ?? '')
    if (name === undefined || bytes === undefined) continue
    for (const key of await Promise.all(vkeys.map(readVkey))) {
      if (key?.name !== name || key.id !== toHex(bytes.subarray(0, 4))) continue
      const isSigned = await crypto.subtle.verify('Ed25519', key.key, bytes.slice(4), utf8(text))
      if (!isSigned) throw invalid(`the signature of ${name} does not fit it`)
      signatures += 1
    }
  }
  if (signatures === 0) throw invalid('none of the given keys has signed it')
  return { origin, size: Number(size), root }
}

/** Undefined for a key of another type, and for text that is none. */
async function readVkey(vkey: string) {
  const [, name, id, base64] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey.trim()) ?? []
  const bytes = fromBase64(base64 ?? '')
  if (name === undefined || id === undefined || bytes?.[0] !== ED25519 || bytes.length !== 33)
    return undefined
  const hash = await sha256(joined(utf8(`${name}\n`), bytes))
  if (toHex(hash.subarray(0, 4)) !== id) return undefined
  const key = await crypto.subtle.importKey('raw', bytes.slice(1), 'Ed25519', false, ['verify'])
  return { name, id, key }
}

function contentOf(text: string): Proven['content'] {
  try {
    return JSON.parse(text) as Proven['content']
  } catch (cause) {
    throw new SignalRefusal('proof_invalid', 'what it is about is no event', { cause })
  }
}

/** The 42 bytes that the tree holds of an event: version, kind, when it is shown, hash. */
async function entryOf({ type, data }: Proven['content'], text: string): Promise<Bytes> {
  const kind = KINDS[type]
  if (kind === undefined) throw invalid(`${type} is no entry of a log`)
  const opensAt = type === 'VerdictRecorded' && typeof data.validUntil === 'number' ? data.validUntil : 0
  const head = new Uint8Array(10)
  head.set([1, kind])
  new DataView(head.buffer).setBigUint64(2, BigInt(opensAt))
  return joined(head, await sha256(utf8(text)))
}

const invalid = (message: string): SignalRefusal => new SignalRefusal('proof_invalid', message)

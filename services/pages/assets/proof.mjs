// Checks the proof of a verdict in the browser: the event that the page shows is an entry of the tree that the log has signed.
// Nothing of the answer is believed but the keys.
const encode = (text) => new TextEncoder().encode(text)
const sha256 = async (...parts) =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', await new Blob(parts).arrayBuffer()))
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
const half = (value) => Math.floor(value / 2)
const KINDS = { VerdictRecorded: 1, OutcomeLabelled: 2 }

/** The keys that signed a checkpoint; an Ed25519 key that has signed something else ends it. */
async function signersOf(note, vkeys) {
  const end = note.lastIndexOf('\n\n') + 1
  const signers = []
  for (const line of note.slice(end + 1).split('\n')) {
    const [, name, base64] = /^— (\S+) (\S+)$/.exec(line) ?? []
    for (const vkey of name ? vkeys : []) {
      const [, keyName, id, key64] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey) ?? []
      const [signature, key] = [bytesOf(base64), bytesOf(key64 ?? '')]
      if (keyName !== name || id !== hex(signature.slice(0, 4)) || key[0] !== 1) continue
      if (id !== hex((await sha256(encode(`${name}\n`), key)).slice(0, 4))) continue
      const verifier = await crypto.subtle.importKey('raw', key.slice(1), 'Ed25519', false, ['verify'])
      const text = encode(note.slice(0, end))
      if (!(await crypto.subtle.verify('Ed25519', verifier, signature.slice(4), text)))
        throw new Error(`the signature of ${name} does not fit the checkpoint`)
      signers.push(name)
    }
  }
  return signers
}

/** The root that a leaf and the hashes beside its way lead to; undefined where they lead to none. */
async function rootOf(leaf, index, size, hashes) {
  let [hash, at, last] = [leaf, index, size - 1]
  for (const sibling of hashes) {
    if (last === 0) return undefined
    const isRight = at % 2 === 1 || at === last
    hash = await sha256(Uint8Array.of(1), ...(isRight ? [sibling, hash] : [hash, sibling]))
    if (isRight) while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)]
    ;[at, last] = [half(at), half(last)]
  }
  return last === 0 ? hash : undefined
}

/**
 * @param file a C2SP tlog-proof
 * @param vkeys verifier keys of the log
 * @param shown SHA-256 of the event that is shown, in hex
 * @returns what was checked; throws an Error that says what does not fit
 */
export async function checkProof(file, vkeys, shown) {
  const end = file.indexOf('\n\n')
  const [first, extra, place, ...lines] = file.slice(0, Math.max(end, 0)).split('\n')
  const index = Number(/^index (\d{1,15})$/.exec(place ?? '')?.[1] ?? Number.NaN)
  if (
    first !== 'c2sp.org/tlog-proof@v1' ||
    !/^extra \S+$/.test(extra) ||
    Number.isNaN(index) ||
    lines.length > 63
  )
    throw new Error('what was fetched is no proof file')
  const content = bytesOf(extra.slice('extra '.length))
  const note = file.slice(end + 2)
  const [origin, size, root] = note.split('\n')
  const signers = await signersOf(note, vkeys)
  if (!signers.includes(origin)) throw new Error(`${origin} has not signed it with a key that is published`)
  const { type, data } = JSON.parse(new TextDecoder().decode(content))
  const hash = await sha256(content)
  if (hex(hash) !== shown) throw new Error('the event in the proof is not the one that this page shows')
  const entry = new Uint8Array(42)
  entry.set([1, KINDS[type] ?? 255])
  new DataView(entry.buffer).setBigUint64(2, BigInt(type === 'VerdictRecorded' ? data.validUntil : 0))
  entry.set(hash, 10)
  const found =
    index < Number(size)
      ? await rootOf(await sha256(Uint8Array.of(0), entry), index, Number(size), lines.map(bytesOf))
      : undefined
  if (found === undefined || hex(found) !== hex(bytesOf(root)))
    throw new Error(`the event is not entry ${index} of the tree of ${size}`)
  return { origin, index, size: Number(size), root }
}

async function textAt(path) {
  const answer = await fetch(path)
  if (answer.ok) return answer.text()
  const { message } = await answer.json().catch(() => ({}))
  throw new Error(message ?? `${path} answers ${answer.status}`)
}

async function show(place) {
  const say = (kind, text) => {
    place.className = kind
    place.textContent = text
  }
  if (!globalThis.crypto?.subtle)
    return say('dim', 'Browsers check signatures on pages over https only. Check the file offline, as below.')
  say('dim', 'Checking the proof …')
  try {
    const [file, keys] = await Promise.all([textAt(place.dataset.proof), textAt('/log/vkeys')])
    const { origin, index, size, root } = await checkProof(file, keys.trim().split('\n'), place.dataset.hash)
    say(
      'good',
      `Checked in this browser: the event above is entry ${index} of the ${size} entries that ${origin} has signed, with the root ${root}. The key came from this server; compare it with one that you have from elsewhere.`,
    )
  } catch (error) {
    const isUnable = error instanceof DOMException
    say(
      isUnable ? 'dim' : 'bad',
      isUnable
        ? 'This browser does not know Ed25519. Check the file offline, as below.'
        : `Not proven: ${error.message}.`,
    )
  }
}

for (const place of globalThis.document?.querySelectorAll('[data-proof]') ?? []) void show(place)

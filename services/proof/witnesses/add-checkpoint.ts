import { HASH_BYTES, type Hash } from '../tree/merkle.ts'

/** A request to a witness to cosign a checkpoint that extends the one it knows (C2SP tlog-witness). */
export interface AddCheckpoint {
  /** Size of the tree that the witness knows; 0 for none. */
  readonly old: number
  readonly proof: readonly Hash[]
  /** With the signatures of the log. */
  readonly note: string
}

const MOST_HASHES = 63

export const formatAddCheckpoint = ({ old, proof, note }: AddCheckpoint): string =>
  [`old ${old}`, ...proof.map((hash) => hash.toString('base64')), '', note].join('\n')

/** Undefined for text that is none. */
export function parseAddCheckpoint(text: string): AddCheckpoint | undefined {
  const end = text.indexOf('\n\n')
  const [first = '', ...hashes] = text.slice(0, Math.max(0, end)).split('\n')
  const old = parseSize(/^old (\d+)$/.exec(first)?.[1])
  const proof = hashes.map((hash) => Buffer.from(hash, 'base64'))
  const isSound = proof.every(
    (hash, at) => hash.length === HASH_BYTES && hash.toString('base64') === hashes[at],
  )
  if (old === undefined || proof.length > MOST_HASHES || !isSound) return undefined
  return { old, proof, note: text.slice(end + 2) }
}

/** A size of a tree, in the one way to write it. */
export const parseSize = (text: string | undefined): number | undefined =>
  text !== undefined && /^(?:0|[1-9]\d{0,15})$/.test(text) && Number.isSafeInteger(Number(text))
    ? Number(text)
    : undefined

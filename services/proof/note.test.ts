import { describe, expect, test } from 'vitest'
import { checkpointText, openCheckpoint, parseVkey, signCheckpoint, signerOf } from './note.ts'

const origin = 'signals.example.com/log'
const checkpoint = { origin, size: 3, root: Buffer.alloc(32, 5) }
const ed = signerOf(origin, Buffer.alloc(32, 1))
const second = signerOf(origin, Buffer.alloc(32, 2))
const note = signCheckpoint(checkpoint, [ed, second])

test('the verifier key and the signature that the specification gives as its example', () => {
  const vkey = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'
  const line = 'Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM='
  const key = parseVkey(vkey)
  expect(key?.vkey).toBe(vkey)
  const signature = Buffer.from(line, 'base64')
  expect(key?.id).toEqual(signature.subarray(0, 4))
  expect(key?.verify(Buffer.from('This is an example message.\n'), signature.subarray(4))).toBe(true)
})

test('a checkpoint is signed by each key and opened with their verifier keys alone', () => {
  const known = [ed, second].flatMap(({ vkey }) => parseVkey(vkey) ?? [])
  const opened = openCheckpoint(note, known)
  expect(opened.checkpoint).toEqual(checkpoint)
  expect(opened.signatures).toEqual([ed, second].map(({ vkey }) => vkey.replace(/\+[^+]+$/, '')))
  expect(note.startsWith(checkpointText(checkpoint))).toBe(true)
})

describe('is refused', () => {
  const other = signerOf(origin, Buffer.alloc(32, 9))
  test.each([
    ['by keys that are not known', note, [other], /none of the known keys/],
    ['with another size', note.replace('\n3\n', '\n4\n'), [ed], /does not fit/],
    ['cut off', note.slice(0, -10), [ed], /no signed note/],
    ['without signatures', checkpointText(checkpoint), [ed], /no signed note/],
    ['with a size that is none', note.replace('\n3\n', '\n03\n'), [ed], /no checkpoint/],
    ['with too many signatures', `${note}${'— a AAAAAAA=\n'.repeat(70)}`, [ed], /70|72/],
    ['as anything else', '{}', [ed], /no signed note/],
  ])('%s', (_what, text, known, words) => expect(() => openCheckpoint(text, known)).toThrow(words))

  test.each(['', 'a+b+c', `${ed.vkey}A`, ed.vkey.replace(/\+.{8}\+/, '+00000000+'), 'x+530d903a+/w=='])(
    'a verifier key %j',
    (vkey) => expect(parseVkey(vkey)).toBeUndefined(),
  )
})

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'

/** A value that is looked for where it must not be. */
export interface Canary {
  readonly name: string
  readonly value: string | Buffer
}

/** Text that stands nowhere by chance, the same in every run. @example marked('smtp') === 'cnry-5d41…' */
export const marked = (name: string): string =>
  `cnry-${createHash('sha256').update(name).digest('hex').slice(0, 24)}`

/** 32 bytes that stand nowhere by chance. */
export const markedBytes = (name: string): Buffer => createHash('sha256').update(`bytes ${name}`).digest()

/** Every form in which a value may stand in something larger. */
export function formsOf(value: string | Buffer): readonly Buffer[] {
  const bytes = Buffer.from(value)
  const forms = new Set<string>([bytes.toString('hex'), bytes.toString('hex').toUpperCase()])
  // Within base64 of something larger it stands in one of three ways; the signs at its ends depend on its neighbours.
  for (const before of [0, 1, 2]) {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replaceAll('=', '')
    const inner = text.slice(
      before === 0 ? 0 : before + 1,
      (before + bytes.length) % 3 === 0 ? undefined : -1,
    )
    forms.add(inner).add(inner.replaceAll('+', '-').replaceAll('/', '_'))
  }
  if (typeof value === 'string') {
    forms.add(value).add(encodeURIComponent(value)).add(JSON.stringify(value).slice(1, -1))
    forms.add(value.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`))
  }
  return [...[...forms].map((form) => Buffer.from(form)), bytes]
}

/** Which canaries stand in what was written, in any form: `name in place: …what is around it…`. */
export function foundIn(place: string, written: string | Buffer, canaries: readonly Canary[]): string[] {
  const bytes = Buffer.from(written)
  return canaries.flatMap(({ name, value }) => {
    const at = formsOf(value)
      .map((form) => bytes.indexOf(form))
      .find((index) => index >= 0)
    if (at === undefined) return []
    const around = bytes.subarray(Math.max(0, at - 120), at + 60).toString('latin1')
    return [`${name} in ${place}: …${around.replaceAll(/[^ -~]/g, '·')}…`]
  })
}

/** All files below a folder with what is in them, and, of those that are compressed, what was. */
export function filesBelow(folder: string): readonly { readonly path: string; readonly bytes: Buffer }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
    .map((file) => {
      const bytes = readFileSync(file)
      return {
        path: relative(folder, file),
        bytes: file.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes,
      }
    })
}

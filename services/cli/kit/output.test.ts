import { execFileSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { writeFileWhole, writeToStream } from './output.ts'

let directory: string
let file: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'output-'))
  file = join(directory, 'rows.csv')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const never = new AbortController().signal

async function* rows() {
  yield 'a'
}

async function* neverAsked() {
  await Promise.reject(new RangeError('asked'))
  yield 'a'
}

describe('a file written whole', () => {
  test('holds every chunk, and replaces one of its name', async () => {
    writeFileSync(file, 'old and longer than the new')
    const chunks = async function* () {
      yield 'é'
      yield Uint8Array.of(10)
    }
    expect(await writeFileWhole(file, chunks(), never)).toBe(3)
    expect(readFileSync(file, 'utf8')).toBe('é\n')
    expect(readdirSync(directory)).toEqual(['rows.csv'])
  })

  test('does not appear before all is written', async () => {
    const seen: boolean[] = []
    const chunks = async function* () {
      yield 'a'
      seen.push(existsSync(file))
      yield 'b'
    }
    await writeFileWhole(file, chunks(), never)
    expect([seen, existsSync(file)]).toEqual([[false], true])
  })

  test('leaves nothing behind, and the old one alone, when its source fails', async () => {
    writeFileSync(file, 'old')
    const chunks = async function* () {
      yield 'new'
      throw new RangeError('away')
    }
    await expect(writeFileWhole(file, chunks(), never)).rejects.toThrow(RangeError)
    expect([readdirSync(directory), readFileSync(file, 'utf8')]).toEqual([['rows.csv'], 'old'])
  })

  test('nor when it is interrupted, though its source then ends as if it were complete', async () => {
    const stopping = new AbortController()
    const chunks = async function* () {
      yield 'a'
      stopping.abort()
    }
    await expect(writeFileWhole(file, chunks(), stopping.signal)).rejects.toThrow('aborted')
    expect(readdirSync(directory)).toEqual([])
  })

  test('through a link is the file that the link names, and the link stays', async () => {
    const [folder, link] = [join(directory, 'elsewhere'), join(directory, 'link.csv')]
    mkdirSync(folder)
    writeFileSync(join(folder, 'rows.csv'), 'old')
    symlinkSync(join(folder, 'rows.csv'), link)
    await writeFileWhole(link, rows(), never)
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(readFileSync(join(folder, 'rows.csv'), 'utf8')).toBe('a')
    expect([readdirSync(folder), readdirSync(directory)]).toEqual([['rows.csv'], ['elsewhere', 'link.csv']])
  })

  test.skipIf(process.platform === 'win32')(
    'is refused, before any work, where a folder, a pipe or a device has that name',
    async () => {
      const [folder, pipe] = [join(directory, 'folder'), join(directory, 'pipe')]
      mkdirSync(folder)
      execFileSync('mkfifo', [pipe])
      const before = readdirSync(directory)
      for (const place of [folder, pipe, '/dev/null']) {
        const refusal = writeFileWhole(place, neverAsked(), never)
        await expect(refusal).rejects.toMatchObject({
          code: 'config_invalid',
          message: expect.stringContaining(`--out ${place} is no file`) as string,
        })
      }
      expect([readdirSync(directory), lstatSync(pipe).isFIFO(), lstatSync('/dev/null').isFile()]).toEqual([
        before,
        true,
        false,
      ])
    },
  )

  test('says which flag names a place that cannot be written', async () => {
    const chunks = async function* () {
      yield 'a'
    }
    const folder = join(directory, 'rows')
    await expect(writeFileWhole(join(folder, 'x.csv'), chunks(), never)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(`--out ${folder}`) as string,
    })
  })
})

describe('a stream that is written to', () => {
  const refusing = (code: string) =>
    new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error(`${code}: no`), { code })),
    })

  test('that can take no more says so, and what to do', async () => {
    await expect(writeToStream(refusing('ENOSPC'), rows())).rejects.toMatchObject({
      code: 'store_full',
      message: 'standard output cannot be written: ENOSPC: no',
    })
    await expect(writeToStream(refusing('EIO'), rows())).rejects.toMatchObject({ code: 'config_invalid' })
  })

  test('whose reader hung up ends with that', async () => {
    await expect(writeToStream(refusing('EPIPE'), rows())).rejects.toMatchObject({ code: 'EPIPE' })
  })

  test('is not blamed for what its rows fail with', async () => {
    await expect(writeToStream(refusing('ENOSPC'), neverAsked())).rejects.toThrow('asked')
  })
})

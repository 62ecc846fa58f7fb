import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { writeFileWhole } from './write-output.ts'

let directory: string
let file: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'output-'))
  file = join(directory, 'rows.csv')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const never = new AbortController().signal

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

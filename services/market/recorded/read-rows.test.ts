import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import { type RowCheck, readRows } from './read-rows.ts'

const COLUMNS = ['ts', 'rate']
const anything: RowCheck = () => undefined

const onlySmall: RowCheck = (rows, offset) =>
  (rows[offset + 1] as number) > 1 ? { column: 'rate', fault: 'is too large' } : undefined

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rows-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function read(
  content: string | Buffer,
  check: RowCheck = anything,
  file = 'a.csv',
): Promise<number[][]> {
  const path = join(folder, file)
  await writeFile(path, content)
  const rows: number[][] = []
  for await (const block of readRows(path, 'x/a.csv', COLUMNS, check)) {
    for (let row = 0; row < block.count; row++) rows.push([...block.rows.subarray(row * 2, row * 2 + 2)])
  }
  return rows
}

const faultOf = async (...given: Parameters<typeof read>) => {
  const error = await read(...given).catch((thrown: unknown) => thrown)
  return isServiceError(error) ? { code: error.code, message: error.message, details: error.details } : error
}

describe('readRows', () => {
  it('reads rows in the order of the columns asked for, whichever the file has', async () => {
    expect(await read('ts,rate\n1,0.5\n2,-0.25\n')).toEqual([
      [1, 0.5],
      [2, -0.25],
    ])
    expect(await read('rate,ts\n0.5,1\n')).toEqual([[1, 0.5]])
  })

  it('takes Windows line ends, a byte order mark, empty lines and a last line without an end', async () => {
    expect(await read('\uFEFFts,rate\r\n1,0.5\r\n\r\n2,1e-3')).toEqual([
      [1, 0.5],
      [2, 0.001],
    ])
    expect(await read('ts,rate')).toEqual([])
    expect(await read('ts,rate\n')).toEqual([])
  })

  it('reads a file of many blocks as the same rows, packed or not', async () => {
    const lines = Array.from({ length: 60_000 }, (_, index) => `${index},${index / 8}`)
    const text = `ts,rate\n${lines.join('\n')}\n`
    for (const rows of [await read(text), await read(gzipSync(text), anything, 'a.csv.gz')]) {
      expect(rows).toHaveLength(60_000)
      expect(rows.every(([time, rate], index) => time === index && rate === index / 8)).toBe(true)
    }
  })

  it.each([
    ['ts\n1\n', 1, 'rate', 'column "rate" is missing'],
    ['ts,rate,venue\n1,2,3\n', 1, 'venue', 'column "venue" is not known'],
    ['ts,rate,rate\n1,2,3\n', 1, 'rate', 'stands there twice'],
    ['', 1, 'ts', 'column "ts" is missing'],
    ['ts,rate\n1,2\n2,\n', 3, 'rate', '"" is empty'],
    ['ts,rate\n1,2\n2\n', 3, 'rate', 'is missing: the row has 1 of 2 cells'],
    ['ts,rate\n1,2,3\n', 2, 'number 3', '"3" has no header'],
    ['ts,rate\n1,2\r\n\r\nx,1\n', 4, 'ts', '"x" is not a number'],
    ['ts,rate\n1,2\n2,nan', 3, 'rate', '"nan" is not a number'],
  ])('names file, row and column of %j', async (text, row, column, fault) => {
    expect(await faultOf(text)).toEqual({
      code: 'market_data_damaged',
      message: expect.stringMatching(/^x\/a\.csv, row /),
      details: { file: 'x/a.csv', row, column },
    })
    expect(await faultOf(text)).toMatchObject({ message: expect.stringContaining(fault) })
  })

  it('names the row and the value that a check refuses', async () => {
    expect(await faultOf('ts,rate\n1,1\n2,7\n', onlySmall)).toMatchObject({
      message: 'x/a.csv, row 3, column rate: "7" is too large; correct the cell or delete the row',
    })
  })

  it('tells a file that was cut off, one that is not packed, one without lines and one that is not there', async () => {
    const packed = gzipSync(`ts,rate\n${'1,2\n'.repeat(5_000)}`)
    expect(await faultOf(packed.subarray(0, packed.length - 20), anything, 'b.csv.gz')).toMatchObject({
      code: 'market_data_damaged',
      message: expect.stringContaining('cut off'),
    })
    expect(await faultOf('ts,rate\n1,2\n', anything, 'c.csv.gz')).toMatchObject({
      code: 'market_data_damaged',
      message: expect.stringContaining('not sound gzip data'),
    })
    expect(await faultOf('x'.repeat(5_000))).toMatchObject({
      code: 'market_data_damaged',
      message: expect.stringContaining('longer than'),
    })
    const absent = readRows(join(folder, 'absent.csv'), 'x/absent.csv', COLUMNS, anything).next()
    await expect(absent).rejects.toMatchObject({ code: 'market_data_missing' })
  })
})

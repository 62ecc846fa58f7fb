import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { DAY_MS, MINUTE_MS } from '../../../../contracts/timeframes.ts'
import { appendKept, keptFile, partPath, readKept, sealedPath, sealKept } from './kept-files.ts'

const root = mkdtempSync(join(tmpdir(), 'kept-'))
const folder = join(root, 'okx')
mkdirSync(folder)
afterAll(() => rmSync(root, { recursive: true, force: true }))

const DAY = Date.UTC(2026, 10, 22)
const SHAPE = {
  open: 100,
  high: 101,
  low: 99,
  close: 100,
  volume: 1,
  takerBuyVolume: 0.5,
  trades: 3,
  openInterest: 7,
  mark: 100,
}

test('bars that another process seals while they are read are all found', async () => {
  const file = keptFile(root, { exchange: 'OKX', coin: 'BTC', timeframe: '1m' }, DAY)
  const bars = [0, 1, 2].map((minute) => ({ openTime: DAY + minute * MINUTE_MS, ...SHAPE }))
  await appendKept(file, bars)
  await sealKept(file, 'a')
  const sealed = readFileSync(sealedPath(file))
  rmSync(sealedPath(file))
  await appendKept(file, bars)
  const part = `${file.name}.part.b`
  renameSync(partPath(file), join(folder, part))
  // The other one is done between this one's list of the parts and the reading of the first.
  const parts = Object.assign([part], {
    *[Symbol.iterator]() {
      writeFileSync(sealedPath(file), sealed)
      rmSync(join(folder, part))
      yield part
    },
  })
  expect(await readKept(file, parts)).toEqual(bars)
})

test('bars that are appended to a part that another process has sealed and removed meanwhile are not lost', async () => {
  const file = keptFile(root, { exchange: 'OKX', coin: 'XRP', timeframe: '1m' }, DAY)
  const bars = [0, 1, 2].map((minute) => ({ openTime: DAY + minute * MINUTE_MS, ...SHAPE }))
  await appendKept(file, bars.slice(0, 2))
  let seals = 0
  // The part is open for writing when its lines are made: that is when the other process takes it, reads it and removes it.
  const late = {
    ...bars[2],
    get openTime() {
      if (seals++ === 0) {
        const taken = `${partPath(file)}.b`
        renameSync(partPath(file), taken)
        const [header = '', ...lines] = readFileSync(taken, 'utf8').split('\n')
        const plain = lines.map((line) => line.slice(0, line.lastIndexOf(',')))
        writeFileSync(sealedPath(file), gzipSync([header, ...plain].join('\n')))
        rmSync(taken)
      }
      return DAY + 2 * MINUTE_MS
    },
  } as (typeof bars)[number]
  await appendKept(file, [late])
  expect(seals).toBeGreaterThan(0)
  expect(await readKept(file)).toEqual(bars)
})

test('two processes that seal the same file from different parts lose nothing of either', async () => {
  const lost: string[] = []
  for (let round = 0; round < 60; round++) {
    const from = DAY + round * DAY_MS
    const file = keptFile(root, { exchange: 'OKX', coin: 'ETH', timeframe: '1m' }, from)
    const bars = Array.from({ length: 4 }, (_, minute) => ({ openTime: from + minute * MINUTE_MS, ...SHAPE }))
    await appendKept(file, bars.slice(0, 2))
    const one = sealKept(file, 'one')
    for (let turn = 0; turn < round % 6; turn++) await new Promise((resolve) => setImmediate(resolve))
    await appendKept(file, bars.slice(2))
    await Promise.all([one, sealKept(file, 'two')])
    await sealKept(file, 'next')
    const found = await readKept(file)
    if (found.length < bars.length) lost.push(`round ${round}: ${bars.length - found.length}`)
    expect(readdirSync(folder).filter((name) => name.startsWith(`${file.name}.part`))).toEqual([])
  }
  expect(lost).toEqual([])
})

test('while another process seals, nothing is touched; once it has ended, however, all is sealed', async () => {
  const file = keptFile(root, { exchange: 'OKX', coin: 'SOL', timeframe: '1m' }, DAY)
  const bars = [{ openTime: DAY, ...SHAPE }]
  await appendKept(file, bars)
  const path = JSON.stringify(`${folder}.lock`)
  const lockUrl = JSON.stringify(new URL('../../../runtime/sqlite/file-lock.ts', import.meta.url).href)
  const script = `import { takeFileLock } from ${lockUrl}
    const lock = takeFileLock(${path}, 'a test'); console.log('held'); setInterval(() => lock, 1e6)`
  const other = spawn(process.execPath, ['--input-type=module', '-e', script])
  await once(other.stdout, 'data')
  await sealKept(file, 'one')
  expect([existsSync(partPath(file)), existsSync(sealedPath(file))]).toEqual([true, false])
  other.kill('SIGKILL')
  await once(other, 'exit')
  await sealKept(file, 'one')
  expect([existsSync(partPath(file)), existsSync(sealedPath(file))]).toEqual([false, true])
  expect(await readKept(file)).toEqual(bars)
})

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { appendSome, beginLog } from '../../log/backup/testing/made-log.fixture.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { keyFingerprintOf } from '../../runtime/secrets/market-keys.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'

const KEY = `${Buffer.alloc(32, 7).toString('base64')}\n`
let folder: string
const below = (...names: string[]): string => join(folder, ...names)

/** A folder of a market with the sealing key in it, as an operator puts it there. */
function folderWithKey(name: string, key = KEY): string {
  mkdirSync(below(name, 'simulated'), { recursive: true })
  writeFileSync(below(name, 'simulated', 'sealing.key'), key, { mode: 0o600 })
  return below(name)
}

const backUp = () => runSignal('backup', below('backup'), '--data-dir', below('data'))
const check = (name: string, ...more: string[]) =>
  runSignal('backup', below('backup'), '--check', '--json', '--data-dir', below(name), ...more)
const restore = (name: string, ...more: string[]) =>
  runSignal('restore', below('backup'), '--data-dir', below(name), ...more)

function takeSignatureAway(): void {
  const file = below('backup', 'backup.json')
  const { hmac: _taken, ...left } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  writeFileSync(file, JSON.stringify(left))
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signed-'))
  const directory = join(folderWithKey('data'), 'simulated')
  const store = await openEmbeddedStore({ directory, now: Date.now })
  await beginLog(
    store,
    undefined,
    keyFingerprintOf({ SEALING_KEY: undefined, MARKET: 'simulated' }, directory),
  )
  await appendSome(store, 60)
  await store.close()
  await backUp()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('a backup', () => {
  test('is checked and restored where its key is', async () => {
    const { code, out } = await check('data')
    expect([code, JSON.parse(out)]).toMatchObject([0, { position: 61 }])
    folderWithKey('restored')
    const restored = await restore('restored')
    expect([restored.code, restored.said]).toEqual([0, expect.not.stringContaining('Warning')])
  })

  test('is refused where its key is not', async () => {
    for (const { code, err } of [await check('restored'), await restore('restored')])
      expect([code, err]).toEqual([2, expect.stringContaining('the sealing key is not here')])
    expect(existsSync(below('restored', 'simulated', 'events.db'))).toBe(false)
  })

  test('is refused without its signature', async () => {
    folderWithKey('restored')
    takeSignatureAway()
    for (const { code } of [await check('data'), await restore('restored'), await backUp()])
      expect(code).toBe(19)
  })

  test('after the sealing key was replaced, is begun anew at another address; the former opens with its key', async () => {
    const replaced = await runSignal('sealing-key', 'replace', '--yes', '--data-dir', below('data'))
    expect(replaced.code).toBe(0)
    const refused = await backUp()
    expect([refused.code, refused.said]).toEqual([8, expect.stringContaining('begin a new backup')])
    expect(await runSignal('backup', below('new'), '--data-dir', below('data'))).toMatchObject({ code: 0 })
    folderWithKey('restored')
    expect(await restore('restored')).toMatchObject({ code: 0 })
  })

  test('× a service that runs: its sealing key is not replaced', async () => {
    const store = await openEmbeddedStore({ directory: below('data', 'simulated'), now: Date.now })
    const replaced = await runSignal('sealing-key', 'replace', '--yes', '--data-dir', below('data'))
    expect([replaced.code, existsSync(below('data', 'simulated', 'wrapping.keys'))]).toEqual([7, false])
    await store.close()
  })

  test('is not made under another key than that of the log', async () => {
    folderWithKey('data', `${Buffer.alloc(32, 8).toString('base64')}\n`)
    expect(await backUp()).toMatchObject({
      code: 8,
      err: expect.stringContaining('begun under another sealing key'),
    })
  })

  test('is not made without a key', async () => {
    rmSync(below('data', 'simulated', 'sealing.key'))
    expect(await backUp()).toMatchObject({ code: 8, err: expect.stringContaining('is missing: copy it to') })
  })
})

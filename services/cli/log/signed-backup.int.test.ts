import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { keyFingerprintOf } from '../../composition/adapters/open-platform.ts'
import { openEmbeddedStore } from '../../log/embedded/embedded-store.ts'
import { appendSome, beginLog } from '../../log-operations/backup/testing/made-log.fixture.ts'
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
  const { signature: _taken, ...left } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
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
    expect([code, JSON.parse(out)]).toMatchObject([0, { position: 61, authenticity: 'authentic' }])
    folderWithKey('restored')
    const restored = await restore('restored')
    expect([restored.code, restored.said]).toEqual([0, expect.not.stringContaining('Warning')])
  })

  test.each([
    ['without the key', () => undefined, /was not checked for who wrote it: the sealing key is not here/],
    [
      'without a signature',
      () => {
        folderWithKey('restored')
        takeSignatureAway()
      },
      /has no signature: a former release made it, or somebody/,
    ],
  ])(
    '%s is refused with a code of its own, and taken with a warning where the operator says so',
    async (_name, prepare, doubt) => {
      prepare()
      const checked = await check('restored')
      // It is told what was found all the same.
      expect([checked.code, JSON.parse(checked.out)]).toMatchObject([21, { position: 61 }])
      expect(checked.err).toMatch(doubt)
      expect(await check('restored', '--unverified')).toMatchObject({
        code: 0,
        err: expect.stringMatching(doubt),
      })
      expect(await restore('restored')).toMatchObject({ code: 21, err: expect.stringMatching(doubt) })
      expect(existsSync(below('restored', 'simulated', 'events.db'))).toBe(false)
      const taken = await restore('restored', '--unverified')
      expect([taken.code, taken.err]).toEqual([0, expect.stringMatching(/Warning: /)])
    },
  )

  test('of a former release has its signature from the next run on', async () => {
    takeSignatureAway()
    expect(await backUp()).toMatchObject({ code: 0 })
    expect(await check('data')).toMatchObject({ code: 0 })
  })

  test('after the sealing key was replaced, is still known, with a warning, and signed anew by the next run', async () => {
    const replaced = await runSignal('sealing-key', 'replace', '--yes', '--data-dir', below('data'))
    expect(replaced.code).toBe(0)
    const checked = await check('data')
    expect([checked.code, checked.err]).toEqual([0, expect.stringContaining('a key that has been replaced')])
    expect(await backUp()).toMatchObject({ code: 0 })
    expect(await check('data')).toMatchObject({ code: 0, err: expect.not.stringContaining('Warning') })
    // The folder to restore into has the older key alone.
    folderWithKey('restored')
    const { code, err } = await restore('restored')
    expect([code, err]).toEqual([8, expect.stringContaining('signed with line 1 of wrapping.keys')])
    expect(err).toContain('Put the wrapping.keys of that log into the folder')
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

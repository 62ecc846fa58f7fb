import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OwnService, startOwnService } from '../../composition/own-service.fixture.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'

const OWN_MODEL = new URL('../../engine/models/barrier-5.json', import.meta.url)

let folder: string
let service: OwnService

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'models-'))
  const file = join(folder, 'other-1.json')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(OWN_MODEL, 'utf8')), version: 'other-1' }))
  const environment = { COINS: 'BTC', TIMEFRAMES: '3m', MODEL_FILES: file, MARKET_SPEED: '60' }
  service = await startOwnService(environment, folder)
}, 120_000)
afterAll(() => service.stop())

/** Runs a command of the command line against the folder of the service. */
async function signal(...args: readonly string[]): Promise<string> {
  const { code, out } = await runSignal(...args, '--data-dir', folder)
  expect(code).toBe(0)
  return out
}

interface Row {
  readonly model_version: string
}

const rowsOf = (text: string): Row[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)

/** The versions that spoke, one for each recorded bar, in order. */
const spoken = async (): Promise<string[]> =>
  rowsOf(await signal('replay', '--timeframe', '3m')).map(({ model_version }) => model_version)

test('a model that was named beside the released one speaks from the command on, and the other goes on beside it', async () => {
  expect(rowsOf(await signal('models', 'list')).map(({ model_version }) => model_version)).toEqual([
    'barrier-5',
    'other-1',
  ])
  await expect.poll(spoken, { timeout: 40_000, interval: 1_000 }).toContain('barrier-5')
  const choice = JSON.parse(await signal('models', 'use', 'other-1')) as Row
  expect(choice.model_version).toBe('other-1')
  await expect
    .poll(async () => rowsOf(await signal('models', 'list')).map(({ model_version }) => model_version), {
      timeout: 30_000,
      interval: 500,
    })
    .toEqual(['other-1', 'barrier-5'])
  await expect.poll(spoken, { timeout: 60_000, interval: 1_000 }).toContain('other-1')
  const versions = await spoken()
  const taken = versions.indexOf('other-1')
  expect(taken).toBeGreaterThan(0)
  expect(new Set(versions.slice(0, taken))).toEqual(new Set(['barrier-5']))
  expect(new Set(versions.slice(taken))).toEqual(new Set(['other-1']))
}, 120_000)

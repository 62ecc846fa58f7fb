import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { canonicalJson, type Json } from '../../../contracts/json.ts'
import { type StatusAnswer, statusAnswerSchema } from '../../../contracts/status-answer.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import { type OwnService, startOwnService } from '../../composition/own-service.fixture.ts'
import { parseManifest } from '../../log-operations/backup/manifest.ts'
import { parseVkey } from '../../proof/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'

let service: OwnService
let backup: string
const signal = (...args: string[]) => runSignal(...args, '--data-dir', service.folder)
const drill = (address = backup) => signal('backup', address, '--drill')
const get = (path: string) => fetch(new URL(path, service.url))

const manifestOf = (folder: string) =>
  parseManifest(readFileSync(join(folder, 'backup.json'), 'utf8'), undefined).manifest

/** The status once it is newer than the answers that are kept. */
async function statusWhere(isSo: (status: StatusAnswer) => boolean): Promise<StatusAnswer> {
  for (;;) {
    const status = statusAnswerSchema.parse(await (await get('/api/status')).json())
    if (isSo(status)) return status
    await sleep(100, new AbortController().signal)
  }
}

beforeAll(async () => {
  service = await startOwnService({ TIMEFRAMES: '1m', COINS: 'BTC', FRESH: 'false' })
  backup = mkdtempSync(join(tmpdir(), 'backup-'))
  while ((await get('/log/checkpoint')).status !== 200) await sleep(50, new AbortController().signal)
  await signal('backup', backup)
}, 60_000)
afterAll(async () => {
  await service.stop()
  rmSync(backup, { recursive: true, force: true })
})

test('the status is signed by the keys of the log, open to all, and names no place', async () => {
  const answer = await get('/api/status')
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'public, max-age=2'])
  const { note, ...content } = statusAnswerSchema.parse(await answer.json())
  const [text = '', signatures = ''] = (note ?? '').split('\n\n')
  expect(text).toBe(canonicalJson(content as unknown as Json))
  const [, name, base64 = ''] = /^— (\S+) (\S+)\n$/.exec(signatures) ?? []
  const bytes = Buffer.from(base64, 'base64')
  const keys = (await (await get('/log/vkeys')).text())
    .trim()
    .split('\n')
    .flatMap((line) => parseVkey(line) ?? [])
  const key = keys.find(({ id, name: own }) => own === name && id.equals(bytes.subarray(0, 4)))
  expect(key?.verify(Buffer.from(`${text}\n`), bytes.subarray(4))).toBe(true)
  expect(
    key?.verify(Buffer.from(`${text.replace('"processes":1', '"processes":2')}\n`), bytes.subarray(4)),
  ).toBe(false)
  expect(content.incidents).toMatchObject([{ kind: 'market_run', count: 1, newest: [{ subject: null }] }])
  for (const secret of [service.folder, hostname(), new URL(service.url).host])
    expect(text).not.toContain(secret)
})

test('the newest backup is shown with its age, also one that was taken while the service was away', async () => {
  const { backup: shown, service: told } = await statusWhere((status) => status.backup !== null)
  const { head, takenAt } = manifestOf(backup)
  expect(shown).toEqual({ taken_at: takenAt, position: head, age_hours: expect.any(Number) })
  expect(told.versions).toEqual([{ version: told.version, processes: 1 }])
  const file = join(service.folder, 'simulated', 'newest-backup')
  const longAgo = new Date(Date.now() - 25 * HOUR_MS).toISOString()
  writeFileSync(file, readFileSync(file, 'utf8').replace(takenAt, longAgo))
  expect((await statusWhere((status) => status.backup?.taken_at === longAgo)).backup?.age_hours).toBe(25)
  // A note of another log, and what is no note.
  for (const text of [
    readFileSync(file, 'utf8').replace(/"logId":"../, '"logId":"zz'),
    '{',
    'x'.repeat(2_000),
  ]) {
    writeFileSync(file, text)
    const ended = Date.now()
    expect((await statusWhere(({ as_of: at }) => Date.parse(at) > ended)).backup).toBeNull()
  }
  await signal('backup', backup)
  await statusWhere((status) => status.backup?.taken_at === manifestOf(backup).takenAt)
}, 60_000)

test('a backup is restored on trial, compared with the log, and shown to everybody', async () => {
  const done = await drill()
  expect([done.code, done.said]).toEqual([0, expect.stringContaining('was restored on trial')])
  const { drill: shown } = await statusWhere((status) => status.drill !== null)
  const { head, takenAt } = manifestOf(backup)
  expect(shown).toMatchObject({ events: head, position: head, backup_taken_at: takenAt })
  expect(readdirSync(service.folder).filter((name) => name.endsWith('-drill'))).toEqual([])
  const page = await (
    await fetch(new URL('/status', service.url), { headers: { accept: 'text/html' } })
  ).text()
  expect(page).toContain(shown?.root)
  expect(page).toContain('the simulated market was run through a stretch of time')
})

test('a restore that was killed leaves a folder that the next one removes', async () => {
  const left = join(service.folder, 'simulated-drill')
  mkdirSync(left)
  writeFileSync(join(left, 'events.db'), 'half of a log')
  expect((await drill()).code).toBe(0)
  expect(existsSync(left)).toBe(false)
})

test('a damaged backup ends with its code, leaves no folder, and nothing is recorded', async () => {
  const damaged = mkdtempSync(join(tmpdir(), 'damaged-'))
  try {
    await signal('backup', damaged)
    const segments = join(damaged, 'log')
    const [first = ''] = readdirSync(segments)
    writeFileSync(join(segments, first), readFileSync(join(segments, first)).subarray(0, -7))
    const { code, said } = await drill(damaged)
    expect([code, said]).toEqual([19, expect.stringContaining(first)])
    expect(existsSync(join(service.folder, 'simulated-drill'))).toBe(false)
    const ended = Date.now()
    const after = await statusWhere((status) => Date.parse(status.as_of) > ended)
    expect(after.drill?.backup_taken_at).toBe(manifestOf(backup).takenAt)
    expect(manifestOf(damaged).takenAt).not.toBe(manifestOf(backup).takenAt)
  } finally {
    rmSync(damaged, { recursive: true, force: true })
  }
}, 30_000)

test('nobody but the operator records a restore on trial', async () => {
  const body = {
    takenAt: new Date(0).toISOString(),
    position: 1,
    events: 1,
    bytes: 1,
    seconds: 0,
    treeSize: 1,
    root: 'A'.repeat(44),
  }
  for (const authorization of [undefined, 'Bearer guessed']) {
    const answer = await fetch(new URL('/operator/backup-drills', service.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
      body: JSON.stringify(body),
    })
    expect(answer.status).toBe(401)
  }
})

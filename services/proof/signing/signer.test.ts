import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { VerdictRecorded } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { verdictStream } from '../../../contracts/streams.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import { openCheckpoint } from '../notes/checkpoint.ts'
import { parseVkey } from '../notes/note-keys.ts'
import { checkProof } from '../proof-file.ts'
import { type MadeUpLog, NOW, nextId, openMadeUpLog } from '../testing/made-up-log.fixture.ts'

const HOUR_MS = 3_600_000
const opened: MadeUpLog[] = []
afterEach(() => {
  for (const log of opened.splice(0)) log.remove()
})

const open = async (options?: Parameters<typeof openMadeUpLog>[0]): Promise<MadeUpLog> => {
  const log = await openMadeUpLog(options)
  opened.push(log)
  return log
}

/** Verdicts of hours up to now; the newest windows are open. */
async function record(log: MadeUpLog, hours: readonly number[]): Promise<string[]> {
  const ids: string[] = []
  for (const hour of hours) {
    const [id, barClose] = [nextId(), NOW - hour * HOUR_MS]
    const data = aVerdict({ verdictId: id, barClose, validUntil: barClose + 8 * HOUR_MS })
    await log.append(verdictStream(data), [
      newEvent(VerdictRecorded, { id, data, meta: { correlationId: 'test', actor: 'engine' } }),
    ])
    ids.push(id)
  }
  return ids
}

const keysOf = (log: MadeUpLog) =>
  log.views
    .vkeys()
    .trim()
    .split('\n')
    .flatMap((line) => parseVkey(line) ?? [])
const headOf = (log: MadeUpLog) => openCheckpoint(log.views.checkpoint(), keysOf(log)).checkpoint

test('a log publishes its keys, signs what it holds with both of them, and proves an event to whoever has the keys', async () => {
  const log = await open()
  expect(() => log.views.checkpoint()).toThrow(/no signed checkpoint/)
  const ids = await record(log, [20, 2])
  expect(await log.sign()).toBeUndefined()
  expect(openCheckpoint(log.views.checkpoint(), keysOf(log)).signatures).toHaveLength(2)
  // The identity of the store, two verdicts, the keys.
  expect(headOf(log)).toEqual({ origin: 'signals.example.com/log', size: 4, root: log.tree.root(4) })
  const events = []
  for await (const event of log.store.readAll()) if (ids.includes(event.id)) events.push(event)
  for (const [at, event] of events.entries()) {
    const file = await log.views.proof(event, new AbortController().signal)
    expect(checkProof(file, keysOf(log))).toMatchObject({ index: at + 1, size: 4, content: { id: ids[at] } })
    expect(() => checkProof(file.replace(/\nindex \d/, '\nindex 0'), keysOf(log))).toThrow(/is not entry 0/)
    expect(() => checkProof(file.slice(0, file.length / 2), keysOf(log))).toThrow(/cannot be relied on/)
  }
})

test('contents are shown once their window has closed, and hash to what was committed', async () => {
  const log = await open()
  await record(log, [20, 2])
  await log.sign()
  const { text, isWhole } = await log.views.contents('contents/000.p/3', new AbortController().signal)
  const [, closed, open_] = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect([closed.type, open_, isWhole]).toEqual(['VerdictRecorded', null, false])
})

test('a log that was set back signs nothing until the operator opens a new origin', async () => {
  const first = await open()
  await record(first, [20, 19])
  await first.sign()
  // What is beside the log stays where it is; the log itself is an older one, which went on otherwise.
  const restored = await open({ directory: first.directory })
  await record(restored, [18, 17, 16, 15])
  expect(await restored.sign()).toMatch(/does not extend the newest checkpoint that was seen, of .* at 4/)
  expect(() => restored.views.checkpoint()).toThrow()
  await expect(
    restored.signer.openOrigin('signals.example.com/log-2', 'the disk was lost'),
  ).resolves.toMatchObject({
    origin: 'signals.example.com/log-2',
  })
  expect(await restored.sign()).toBeUndefined()
  expect(headOf(restored)).toMatchObject({ origin: 'signals.example.com/log-2', size: 6 })
  await expect(restored.signer.openOrigin('signals.example.com/log-2', 'again')).rejects.toThrow(/already/)
})

test('a log that was restored without what is kept beside it signs nothing either', async () => {
  const log = await open()
  await record(log, [20])
  await log.sign()
  const elsewhere = mkdtempSync(join(tmpdir(), 'log-'))
  try {
    copyFileSync(join(log.directory, 'log.keys'), join(elsewhere, 'log.keys'))
    const again = await open({ directory: elsewhere })
    for await (const event of log.store.readAll()) {
      if (event.stream !== 'store-identity') await again.append(event.stream, [event])
    }
    expect(await again.sign()).toMatch(/differs from the checkpoint|is missing, as after a restore/)
    rmSync(join(elsewhere, 'log.keys'))
    const keyless = await open({ directory: elsewhere })
    for await (const event of log.store.readAll()) {
      if (event.stream !== 'store-identity') await keyless.append(event.stream, [event])
    }
    expect(await keyless.sign()).toMatch(/keys of this process are none of those/)
  } finally {
    rmSync(elsewhere, { recursive: true, force: true })
  }
})

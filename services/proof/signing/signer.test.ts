import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openCheckpoint } from '../notes/checkpoint.ts'
import { checkProof } from '../proof-file.ts'
import { type MadeUpLog, openMadeUpLog, removeMadeUpLogs } from '../testing/made-up-log.fixture.ts'

afterEach(removeMadeUpLogs)

const headOf = (log: MadeUpLog) => openCheckpoint(log.views.checkpoint(), log.keys()).checkpoint

test('a log publishes its key, signs what it holds, and proves an event to all who have the key', async () => {
  const log = await openMadeUpLog()
  expect(() => log.views.checkpoint()).toThrow(/no signed checkpoint/)
  const ids = await log.record(20, 2)
  expect(await log.sign()).toBeUndefined()
  expect(openCheckpoint(log.views.checkpoint(), log.keys()).signatures).toHaveLength(1)
  // The identity of the store, two verdicts, the keys.
  expect(headOf(log)).toEqual({ origin: 'signals.example.com/log', size: 4, root: log.tree.root(4) })
  const events = (await Array.fromAsync(log.store.readAll())).filter(({ id }) => ids.includes(id))
  for (const [at, event] of events.entries()) {
    const file = await log.views.proof(event, new AbortController().signal)
    expect(checkProof(file, log.keys())).toMatchObject({ index: at + 1, size: 4, content: { id: ids[at] } })
    expect(() => checkProof(file.replace(/\nindex \d/, '\nindex 0'), log.keys())).toThrow(/is not entry 0/)
    expect(() => checkProof(file.slice(0, file.length / 2), log.keys())).toThrow(/cannot be relied on/)
  }
})

test('contents are shown once their window has closed, and hash to what was committed', async () => {
  const log = await openMadeUpLog()
  await log.record(20, 2)
  await log.sign()
  const { text, isWhole } = await log.views.contents('contents/000.p/3', new AbortController().signal)
  const [, closed, open_] = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect([closed.type, open_, isWhole]).toEqual(['VerdictRecorded', null, false])
})

test('a log that was set back signs nothing until the operator opens a new origin', async () => {
  const first = await openMadeUpLog()
  await first.record(20, 19)
  await first.sign()
  // What is beside the log stays where it is; the log itself is an older one, which went on otherwise.
  const restored = await openMadeUpLog({ directory: first.directory })
  await restored.record(18, 17, 16, 15)
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
  const log = await openMadeUpLog()
  await log.record(20)
  await log.sign()
  const elsewhere = mkdtempSync(join(tmpdir(), 'log-'))
  try {
    copyFileSync(join(log.directory, 'log.keys'), join(elsewhere, 'log.keys'))
    const again = await openMadeUpLog({ directory: elsewhere })
    for await (const event of log.store.readAll()) {
      if (event.stream !== 'store-identity') await again.append(event.stream, [event])
    }
    expect(await again.sign()).toMatch(/differs from the checkpoint|is missing, as after a restore/)
    rmSync(join(elsewhere, 'log.keys'))
    const keyless = await openMadeUpLog({ directory: elsewhere })
    for await (const event of log.store.readAll()) {
      if (event.stream !== 'store-identity') await keyless.append(event.stream, [event])
    }
    expect(await keyless.sign()).toMatch(/keys of this process are none of those/)
  } finally {
    rmSync(elsewhere, { recursive: true, force: true })
  }
})

import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openCheckpoint } from '../note.ts'
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

test('a log that was set back signs nothing until the settings name a new origin', async () => {
  const first = await openMadeUpLog()
  await first.record(20, 19)
  await first.sign()
  const { directory } = first
  // What is beside the log stays where it is; the log itself is an older one, which went on otherwise.
  const restored = await openMadeUpLog({ directory })
  await restored.record(18, 17, 16, 15)
  expect(await restored.sign()).toMatch(/does not extend the newest checkpoint that was seen, of .* at 4/)
  expect(() => restored.views.checkpoint()).toThrow()
  const { store } = restored
  const origin = 'signals.example.com/log-2'
  const renamed = await openMadeUpLog({ directory, store, origin })
  expect(await renamed.sign()).toBeUndefined()
  expect(headOf(renamed)).toMatchObject({ origin, size: 6 })
  // Its first keys say publicly what it does not continue, and why.
  const published = await Array.fromAsync(store.readAll({ filter: { types: ['LogKeysPublished'] } }))
  expect(published.map(({ data }) => data)).toEqual([
    expect.objectContaining({
      origin,
      reason: expect.stringContaining('it holds no keys') as string,
      leaves: { origin: 'signals.example.com/log', size: 4, root: first.tree.root(4).toString('base64') },
    }),
  ])
  const again = await openMadeUpLog({ directory, store })
  expect(await again.sign()).toBeUndefined()
  expect(headOf(again)).toMatchObject({ origin })
})

test('a name that a log had before is no new one', async () => {
  const log = await openMadeUpLog({ origin: 'one' })
  await log.sign()
  const { directory, store } = log
  expect(await (await openMadeUpLog({ directory, store, origin: 'two' })).sign()).toBeUndefined()
  const back = await openMadeUpLog({ directory, store, origin: 'one' })
  expect(await back.sign()).toMatch(/LOG_ORIGIN is one, which this log had before two/)
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
    expect(await keyless.sign()).toMatch(/published none of the keys of this process/)
  } finally {
    rmSync(elsewhere, { recursive: true, force: true })
  }
})

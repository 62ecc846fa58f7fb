import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ERRORS } from '../../../contracts/errors/errors.ts'
import { STORE_LOSSES_STREAM } from '../../../contracts/events/streams.ts'
import { anEvent, collect, refusal } from '../event-store.contract.ts'
import type { EventStore } from '../event-store.ts'
import { openEmbeddedStore } from './embedded-store.ts'

const APPENDS = 24
const PAGE_BYTES = 8_192
const FRAME_BYTES = 24 + PAGE_BYTES
const ID = '01941f29-7c00-7001-8000-00000000aaaa'

let root: string
let copies: number
let open: EventStore[]
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'lost-end-'))
  copies = 0
  open = []
})
afterEach(async () => {
  for (const store of open) await store.close()
  rmSync(root, { recursive: true, force: true })
})

async function openIn(directory: string, accepted?: number): Promise<EventStore> {
  const acceptLostEnd = accepted === undefined ? undefined : { position: accepted, id: ID }
  const store = await openEmbeddedStore({ directory, now: Date.now, acceptLostEnd })
  open.push(store)
  return store
}

/** The files that a killed process leaves: every event is in the write-ahead log. */
async function killed(appends = APPENDS): Promise<string> {
  const living = join(root, 'living')
  const store = await openIn(living)
  for (let n = 0; n < appends; n++)
    await store.append(`s-${n}`, [anEvent(), anEvent()], { expected: 'no-stream' })
  return copyOf(living)
}

function copyOf(directory: string): string {
  const copy = join(root, `copy-${copies++}`)
  cpSync(directory, copy, {
    recursive: true,
    filter: (from) => !from.includes('events.lock') && !from.endsWith('-shm'),
  })
  return copy
}

const wal = (directory: string): string => join(directory, 'events.db-wal')
const note = (directory: string): string => join(directory, 'newest-position')
/** Leaves out the files that SQLite shares between processes, and an empty write-ahead log. */
const contents = (directory: string) =>
  Object.fromEntries(
    readdirSync(directory)
      .filter((name) => !/-shm$|\.lock/.test(name))
      .map((name) => [name, readFileSync(join(directory, name)).toString('base64')] as const)
      .filter(([name, text]) => !name.endsWith('-wal') || text !== ''),
  )

function change(file: string, edit: (bytes: Buffer) => Buffer | undefined): void {
  const bytes = readFileSync(file)
  writeFileSync(file, edit(bytes) ?? bytes)
}
const flip = (at: number) => (bytes: Buffer) => {
  bytes[at] = (bytes[at] ?? 0) ^ 16
  return undefined
}

const lengthOf = async (store: EventStore): Promise<number> => (await collect(store.readAll())).length

describe('a log that lost its end', () => {
  const DAMAGES: readonly (readonly [string, (directory: string) => void])[] = [
    [
      'a bit of the write-ahead log flipped',
      (dir) => change(wal(dir), (all) => flip(Math.floor(all.length / 2))(all)),
    ],
    ['its header damaged', (dir) => change(wal(dir), flip(17))],
    [
      'half of the write-ahead log cut off',
      (dir) => change(wal(dir), (all) => all.subarray(0, all.length / 2)),
    ],
    ['the newest transaction cut off', (dir) => change(wal(dir), (all) => all.subarray(0, all.length - 100))],
    ['the write-ahead log gone', (dir) => rmSync(wal(dir))],
  ]
  test.each(DAMAGES)('by %s is refused, named and left as it is', async (_what, damage) => {
    const directory = await killed()
    damage(directory)
    const before = contents(directory)
    const error = await refusal(openIn(directory))
    expect(error.code).toBe('log_end_lost')
    expect(ERRORS.log_end_lost.exitCode).toBe(22)
    expect(error.message).toContain(`position ${2 * APPENDS} was durable`)
    expect(error.nextStep).toMatch(/restore a backup/i)
    expect(contents(directory)).toEqual(before)
  })

  test('is gone on with where its operator accepts that end, and says so for good', async () => {
    const directory = await killed()
    change(wal(directory), (all) => all.subarray(0, all.length / 2))
    const { message, nextStep } = await refusal(openIn(directory))
    const left = Number(/ends at position (\d+)/.exec(message)?.[1])
    expect(nextStep).toContain(`--accept-lost-end ${left}`)
    // Another number, of an earlier loss say, accepts nothing.
    expect((await refusal(openIn(directory, left - 1))).code).toBe('log_end_lost')
    const store = await openIn(directory, left)
    expect((await collect(store.read(STORE_LOSSES_STREAM)))[0]).toMatchObject({
      position: String(left + 1),
      type: 'LogEndLost',
      data: { endsAt: left, notedPosition: 2 * APPENDS },
    })
    await store.close()
    // The accepted loss is over: the log is whole again, up to its new end.
    const again = await openIn(directory, left)
    expect(await lengthOf(again)).toBe(left + 1)
  })

  test('is not gone on with where what is left is damaged itself', async () => {
    const directory = await killed()
    rmSync(note(directory))
    const db = new DatabaseSync(join(directory, 'events.db'))
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    db.exec('DELETE FROM event WHERE position = 7; DELETE FROM event WHERE position > 40')
    db.close()
    writeFileSync(note(directory), `${String(2 * APPENDS).padStart(16)} ${ID}\n`)
    const error = await refusal(openIn(directory, 40))
    expect(error.message).toContain('39 events up to position 40')
    expect(error.nextStep).not.toContain('--accept-lost-end')
  })

  test('is not said of one that somebody else holds at that moment', async () => {
    const directory = await killed()
    const holder = new DatabaseSync(join(directory, 'events.db'))
    holder.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    const error = await refusal(openIn(directory))
    holder.close()
    expect(error.code).toBe('store_unavailable')
  })

  test('was exchanged for another log of the same length', async () => {
    const directory = await killed()
    const other = join(root, 'other')
    const store = await openIn(other)
    for (let n = 0; n < APPENDS; n++)
      await store.append(`s-${n}`, [anEvent(), anEvent()], { expected: 'no-stream' })
    await store.close()
    cpSync(note(directory), note(other))
    expect((await refusal(openIn(other))).code).toBe('log_end_lost')
  })
})

describe('a folder without the log that was begun there', () => {
  test.each(['events.db and events.db-wal', 'events.db', 'all of events.db’s content'])(
    '%s missing',
    async (what) => {
      const directory = await killed()
      if (what.startsWith('all')) writeFileSync(join(directory, 'events.db'), '')
      else rmSync(join(directory, 'events.db'))
      if (what.includes('and')) rmSync(wal(directory))
      const before = contents(directory)
      const error = await refusal(openIn(directory))
      expect(error.code).toBe('store_mismatch')
      expect(error.message).toContain('newest-position')
      expect(contents(directory)).toEqual(before)
    },
  )

  test.each(['projections.db', 'newest-checkpoint'])('is known by %s', async (name) => {
    const directory = join(root, 'left')
    mkdirSync(directory)
    writeFileSync(join(directory, name), 'something')
    expect((await refusal(openIn(directory))).code).toBe('store_mismatch')
    expect(existsSync(join(directory, 'events.db'))).toBe(false)
  })
})

describe('an end that is nobody’s loss starts silently', () => {
  test('frames of a commit that was not over', async () => {
    const directory = await killed()
    change(wal(directory), (all) =>
      Buffer.concat([all, all.subarray(32, 32 + FRAME_BYTES), Buffer.alloc(3_000, 7)]),
    )
    expect(await lengthOf(await openIn(directory))).toBe(2 * APPENDS)
  })

  test('a log without a note, as one that was just restored', async () => {
    const directory = await killed()
    rmSync(note(directory))
    const store = await openIn(directory)
    expect(await lengthOf(store)).toBe(2 * APPENDS)
    await store.append('s-new', [anEvent()], { expected: 'no-stream' })
    expect(readFileSync(note(directory), 'utf8')).toMatch(
      new RegExp(`^ +${2 * APPENDS + 1} [0-9a-f-]{36}\n$`),
    )
  })
})

test('what cannot be noted is said, and takes nothing from what is durable', async () => {
  const directory = join(root, 'blocked')
  mkdirSync(note(directory), { recursive: true })
  const store = await openEmbeddedStore({ directory, now: Date.now }).catch((error: unknown) => error)
  // A folder in its place says that a log was there.
  expect(store).toMatchObject({ code: 'store_mismatch' })
  rmSync(note(directory), { recursive: true })
  const opened = await openIn(directory)
  mkdirSync(note(directory))
  await opened.append('s', [anEvent()], { expected: 'no-stream' })
  expect(await opened.health()).toMatchObject({ ok: true, late: expect.stringContaining('newest-position') })
  rmSync(note(directory), { recursive: true })
  await opened.append('s', [anEvent()], { expected: 0 })
  expect((await opened.health()).late).toBeUndefined()
})

test('a note that says nothing is refused with what to do', async () => {
  const directory = await killed()
  writeFileSync(note(directory), 'rubbish\n')
  const error = await refusal(openIn(directory))
  expect(error.code).toBe('log_end_lost')
  expect(error.nextStep).toContain(`delete ${note(directory)}`)
})

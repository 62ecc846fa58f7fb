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
import { ERRORS, ServiceError } from '../../../contracts/errors.ts'
import { STORE_LOSSES_STREAM } from '../../../contracts/streams.ts'
import { anEvent, collect } from '../event-store.contract.ts'
import type { EventStore } from '../event-store.ts'
import { shrinkLog } from './archive-log.ts'
import { openEmbeddedStore } from './embedded-store.ts'
import { requireEnd } from './require-whole-log.ts'
import { prepareWriter } from './schema.ts'
import { walDamage } from './wal-damage.ts'

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

async function refusalOf(opening: Promise<unknown>): Promise<ServiceError> {
  const error = await opening.then(
    () => new Error('it opened'),
    (refused: unknown) => refused,
  )
  expect(error).toBeInstanceOf(ServiceError)
  return error as ServiceError
}

const lengthOf = async (store: EventStore): Promise<number> => (await collect(store.readAll())).length

/** Numbers of the frames that end a transaction. */
function commits(directory: string): number[] {
  const bytes = readFileSync(wal(directory))
  const frames = Math.floor((bytes.length - 32) / FRAME_BYTES)
  return Array.from({ length: frames }, (_, index) => index + 1).filter(
    (frame) => bytes.readUInt32BE(32 + (frame - 1) * FRAME_BYTES + 4) !== 0,
  )
}

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
    const refusal = await refusalOf(openIn(directory))
    expect(refusal.code).toBe('log_end_lost')
    expect(ERRORS.log_end_lost.exitCode).toBe(22)
    expect(refusal.message).toContain(`position ${2 * APPENDS} was durable`)
    expect(refusal.nextStep).toMatch(/restore a backup/i)
    expect(contents(directory)).toEqual(before)
  })

  test('is gone on with where its operator accepts that end, and says so for good', async () => {
    const directory = await killed()
    change(wal(directory), (all) => all.subarray(0, all.length / 2))
    const { message, nextStep } = await refusalOf(openIn(directory))
    const left = Number(/ends at position (\d+)/.exec(message)?.[1])
    expect(nextStep).toContain(`--accept-lost-end ${left}`)
    // Another number, of an earlier loss say, accepts nothing.
    expect((await refusalOf(openIn(directory, left - 1))).code).toBe('log_end_lost')
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
    const refusal = await refusalOf(openIn(directory, 40))
    expect(refusal.message).toContain('39 events up to position 40')
    expect(refusal.nextStep).not.toContain('--accept-lost-end')
  })

  test('is seen by the write-ahead log alone, wherever a commit behind the damage proves it', async () => {
    const directory = await killed()
    rmSync(note(directory))
    const ends = commits(directory)
    const proved = ends.at(-2) ?? 0
    expect(proved).toBeGreaterThan(APPENDS)
    for (let frame = 1; frame <= proved; frame++) {
      const start = 32 + (frame - 1) * FRAME_BYTES
      // In the salt, in the checksum, and in the page.
      for (const at of [start + 9, start + 18, start + 24 + ((frame * 977) % PAGE_BYTES)]) {
        const copy = copyOf(directory)
        change(wal(copy), flip(at))
        // A commit whose own checksum is wrong is proved by the frame after the next commit.
        if (frame === proved && at === start + 18) continue
        expect(walDamage(wal(copy)), `frame ${frame}, byte ${at - start}`).toContain(`frame ${frame} of`)
        rmSync(copy, { recursive: true })
      }
    }
    change(wal(directory), flip(32 + FRAME_BYTES + 500))
    expect((await refusalOf(openIn(directory))).code).toBe('log_end_lost')
  })

  test('is refused to archives and to copies, too', async () => {
    const directory = await killed()
    rmSync(wal(directory))
    const file = join(directory, 'events.db')
    expect(() => requireEnd(file)).toThrow(/lost its end/)
    expect(() => shrinkLog(file)).toThrow(/lost its end/)
  })

  test('is not said of one that somebody else holds at that moment', async () => {
    const directory = await killed()
    const holder = new DatabaseSync(join(directory, 'events.db'))
    holder.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    const error = await refusalOf(openIn(directory))
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
    expect((await refusalOf(openIn(other))).code).toBe('log_end_lost')
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
      const refusal = await refusalOf(openIn(directory))
      expect(refusal.code).toBe('store_mismatch')
      expect(refusal.message).toContain('newest-position')
      expect(contents(directory)).toEqual(before)
    },
  )

  test.each(['projections.db', 'newest-checkpoint'])('is known by %s', async (name) => {
    const directory = join(root, 'left')
    mkdirSync(directory)
    writeFileSync(join(directory, name), 'something')
    expect((await refusalOf(openIn(directory))).code).toBe('store_mismatch')
    expect(existsSync(join(directory, 'events.db'))).toBe(false)
  })
})

describe('an end that is nobody’s loss starts silently', () => {
  test('frames of a commit that was not over', async () => {
    const directory = await killed()
    change(wal(directory), (all) =>
      Buffer.concat([all, all.subarray(32, 32 + FRAME_BYTES), Buffer.alloc(3_000, 7)]),
    )
    expect(walDamage(wal(directory))).toBeUndefined()
    expect(await lengthOf(await openIn(directory))).toBe(2 * APPENDS)
  })

  test('a machine that went down in a commit, whichever of its frames came to the disk', async () => {
    const directory = await killed()
    // The note was as old as it was last written to the disk: one commit before.
    const [last = 0, before = 0] = commits(directory).toReversed()
    rmSync(note(directory))
    expect(last - before).toBeGreaterThan(1)
    for (let kept = 0; kept < 2 ** Math.min(6, last - before) - 1; kept++) {
      const copy = copyOf(directory)
      change(wal(copy), (all) => {
        for (let frame = before + 1; frame <= last; frame++)
          if ((kept & (1 << (frame - before - 1))) === 0)
            all.fill(0, 32 + (frame - 1) * FRAME_BYTES, 32 + frame * FRAME_BYTES)
        return undefined
      })
      expect(walDamage(wal(copy)), `frames ${kept.toString(2)}`).toBeUndefined()
      rmSync(copy, { recursive: true })
    }
    change(wal(directory), (all) => all.fill(0, 32 + before * FRAME_BYTES, 32 + (before + 1) * FRAME_BYTES))
    expect(await lengthOf(await openIn(directory))).toBe(2 * APPENDS - 2)
  })

  test('frames of before the write-ahead log began anew', async () => {
    const file = join(root, 'plain.db')
    const db = new DatabaseSync(file)
    prepareWriter(db)
    const fill = (rows: number): void => {
      for (let n = 0; n < rows; n++)
        db.exec(
          "INSERT INTO event (stream, revision, type, schema, id, data, meta, at) SELECT 's', count(*), 't', 1, count(*), hex(randomblob(9000)), '{}', '' FROM event",
        )
    }
    fill(20)
    // The next commit begins at the front again, over what was there.
    db.exec('PRAGMA wal_checkpoint(RESTART)')
    fill(3)
    cpSync(`${file}-wal`, join(root, 'after.wal'))
    expect(walDamage(join(root, 'after.wal'))).toBeUndefined()
    change(join(root, 'after.wal'), flip(32 + 600))
    expect(walDamage(join(root, 'after.wal'))).toContain('frame 1 of')
    db.close()
  })

  test('frames of transactions that were undone', async () => {
    const file = join(root, 'spilled.db')
    const db = new DatabaseSync(file)
    prepareWriter(db)
    db.exec('PRAGMA cache_size = 2')
    const insert =
      "INSERT INTO event (stream, revision, type, schema, id, data, meta, at) SELECT 's', count(*), 't', 1, count(*), hex(randomblob(9000)), '{}', '' FROM event"
    for (let round = 0; round < 6; round++) {
      db.exec('BEGIN')
      for (let n = 0; n < 30 - 4 * round; n++) db.exec(insert)
      db.exec('ROLLBACK')
      db.exec(insert)
    }
    cpSync(`${file}-wal`, join(root, 'after.wal'))
    expect(readFileSync(join(root, 'after.wal')).length).toBeGreaterThan(40 * FRAME_BYTES)
    expect(walDamage(join(root, 'after.wal'))).toBeUndefined()
    db.close()
  })

  test('a log of an earlier release, which has no note, and one that was just restored', async () => {
    const directory = await killed()
    rmSync(note(directory))
    const store = await openIn(directory)
    expect(await lengthOf(store)).toBe(2 * APPENDS)
    await store.append('s-new', [anEvent()], { expected: 'no-stream' })
    expect(readFileSync(note(directory), 'utf8')).toMatch(
      new RegExp(`^ +${2 * APPENDS + 1} [0-9a-f-]{36}\n$`),
    )
  })

  test('a write-ahead log whose checksums are taken over words with their highest byte first', async () => {
    const directory = await killed()
    change(wal(directory), withBigEndianSums)
    expect(walDamage(wal(directory))).toBeUndefined()
    const damaged = copyOf(directory)
    change(wal(damaged), flip(32 + FRAME_BYTES + 700))
    expect(walDamage(wal(damaged))).toContain('frame 2 of')
    expect(await lengthOf(await openIn(directory))).toBe(2 * APPENDS)
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
  const refusal = await refusalOf(openIn(directory))
  expect(refusal.code).toBe('log_end_lost')
  expect(refusal.nextStep).toContain(`delete ${note(directory)}`)
})

/** The same write-ahead log as a machine with the other order of bytes would have written it; SQLite reads both. */
function withBigEndianSums(bytes: Buffer): undefined {
  const sum = ([a, b]: readonly [number, number], from: number, to: number): [number, number] => {
    for (let at = from; at < to; at += 8) {
      a = (a + bytes.readUInt32BE(at) + b) >>> 0
      b = (b + bytes.readUInt32BE(at + 4) + a) >>> 0
    }
    return [a, b]
  }
  const put = ([a, b]: readonly [number, number], at: number): void => {
    bytes.writeUInt32BE(a, at)
    bytes.writeUInt32BE(b, at + 4)
  }
  bytes.writeUInt32BE(0x377f0683, 0)
  let chain = sum([0, 0], 0, 24)
  put(chain, 24)
  for (let start = 32; start + FRAME_BYTES <= bytes.length; start += FRAME_BYTES) {
    chain = sum(sum(chain, start, start + 8), start + 24, start + FRAME_BYTES)
    put(chain, start + 16)
  }
}
